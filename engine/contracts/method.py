"""The work inside a session: prepared, run, closed."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from engine.contracts.cancellation import Cancellation
from engine.contracts.events import TokenLogprobs, TokenPiece

R_co = TypeVar("R_co", covariant=True)


class Output(Protocol):
    """Where a run publishes, between the start of `execute` and its return, one publication at a time.

    A publication waits until the reader has room, and raises `SessionCancelledError` once the session is cancelled.
    A refused one raises and leaves no trace; the run may go on.
    """

    async def commit(
        self,
        token_ids: Sequence[int],
        logprobs: Sequence[TokenLogprobs | None] | None = None,
        pieces: Sequence[TokenPiece] | None = None,
    ) -> object:
        """Add tokens to the answer for good. Copies what it is given. Answers what a callback session's owner did."""

    async def progress(self, completed: float, total: float | None = None, phase: str | None = None) -> None:
        """Tell how far the work is: finite, `completed` at least 0, `total` at least `completed`."""


class Run(Protocol[R_co]):
    """One execution. The session calls `execute` at most once, then always `close`, once."""

    async def execute(self, output: Output) -> R_co:
        """Do the work and return its result; ends early with `SessionCancelledError` when it notices a cancellation."""

    async def close(self) -> None:
        """Free everything the run holds. Awaited before the session is terminal."""


class Plan(Protocol[R_co]):
    """What preparation found out. Owned by the session: it becomes a run, or it is released."""

    @property
    def output_token_limit(self) -> int:
        """At most this many tokens will be committed; 0 is allowed."""

    async def create_run(self) -> Run[R_co]:
        """Hand everything prepared over to a run. Called at most once."""

    async def release(self) -> None:
        """Free what preparation acquired; called instead of, or after a failing, `create_run`."""


Prepare = Callable[[Cancellation], Awaitable[Plan[R_co]]]

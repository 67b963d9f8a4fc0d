"""One piece of work with one reader, from opening to outcome."""

import enum
from typing import Protocol, Self, TypeVar

from engine.contracts.cancellation import REQUESTED
from engine.contracts.events import SessionEvent
from engine.contracts.outcomes import Outcome

R_co = TypeVar("R_co", covariant=True)


class SessionState(enum.StrEnum):
    """Where a session is in its life; it only moves forward."""

    CREATED = "created"
    PREPARING = "preparing"
    RUNNING = "running"
    SETTLING = "settling"
    TERMINAL = "terminal"


class EventIterator(Protocol):
    """The session's only reader. Events come in order; the end of the session is the end of the iteration.

    Failure is never raised here: it is only in the outcome. A reader cancelled while it waits loses no event.
    """

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> SessionEvent: ...

    async def aclose(self) -> None:
        """Leave early: cancels the session as `consumer_closed` and returns once it is terminal."""


class Session(Protocol[R_co]):
    """One answer, load or installation under way.

    Whoever opened it owns it, reads it to the end or closes it (`async with` does). Nothing starts before the first
    event is asked for. At most a bounded number of events waits for the reader; the work pauses until there is room.
    """

    @property
    def state(self) -> SessionState: ...

    def __aiter__(self) -> EventIterator:
        """Take the one reader; a second request is an error, even after the first has ended."""

    async def cancel(self, reason: str = REQUESTED) -> None:
        """Record `reason` (the first wins), drop what nobody has read, and return once terminal. Never raises."""

    async def close(self) -> None:
        """Cancel as `consumer_closed`; on a terminal session it does nothing."""

    async def outcome(self) -> Outcome[R_co]:
        """How it ended. Any number of callers may wait; a cancelled waiter disturbs nobody. Starts nothing."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

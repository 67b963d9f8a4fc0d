"""One answer under way, as the one who asked for it sees it."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from engine.contracts import (
    Cancellation,
    CaptureSettings,
    FinishReason,
    SamplingSettings,
    SessionCancelledError,
    TokenLogprobs,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRequest:
    """What a row has to do. Token ids are checked by the group, before the model sees them.

    `sampling.seed` is set. The answer begins with `forced_prefix`, which counts towards `max_tokens` and is measured
    like any other token, in all but its stages: nothing was drawn. With no room behind it, a text is only scored.
    A token of `end_ids` that is drawn (not forced) is delivered and ends the answer.
    """

    prompt: tuple[int, ...]
    sampling: SamplingSettings
    captures: CaptureSettings
    max_tokens: int
    end_ids: frozenset[int]
    cancellation: Cancellation
    forced_prefix: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RowProgress:
    """Prompt tokens read so far, of how many; `cached` of them came from stored work."""

    read: int
    total: int
    cached: int


@dataclass(frozen=True, slots=True)
class SampledToken:
    """The next token of the answer, with what was measured of it."""

    id: int
    logprobs: TokenLogprobs | None


RowStep = RowProgress | SampledToken


class Row:
    """The reading end of one answer; exactly one reader. The group owns the writing end and everything behind it.

    Tokens wait in a bounded outbox; while it is full the group lets the row rest. Everything happens on the engine's
    loop.
    """

    def __init__(self, request: RowRequest, outbox_tokens: int, on_change: Callable[[], None]) -> None:
        self.request = request
        self._outbox: deque[SampledToken] = deque()
        self._outbox_tokens = outbox_tokens
        self._on_change = on_change
        self._progress: RowProgress | None = None
        self._finish_reason: FinishReason | None = None
        self._failure: BaseException | None = None
        self._ended = False
        self._closed = False
        self._waiter: asyncio.Future[None] | None = None
        self._unsubscribe = request.cancellation.subscribe(lambda _reason: on_change())

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the answer ended; None before, and for one that failed, was cancelled or was closed."""
        return self._finish_reason

    async def next_step(self) -> RowStep | None:
        """The next progress or token, in order; None when the answer has ended.

        Raises the row's own failure, and `SessionCancelledError` once a cancelled row has left the group, so that
        whoever sees it knows that the device no longer works for the row. A reader cancelled while it waits loses
        nothing. RuntimeError: there is another reader.
        """
        if self._waiter is not None:
            raise RuntimeError("a row has one reader")
        while True:
            if (step := self._take()) is not None:
                return step
            if self._failure is not None:
                raise self._failure
            if self._ended:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def close(self) -> None:
        """Drop the row: nothing more is delivered, and it leaves the group before the next unit. Idempotent."""
        if not self._closed:
            self._closed = True
            self._outbox.clear()
            self._on_change()

    def _take(self) -> RowStep | None:
        if self._progress is not None:
            progress, self._progress = self._progress, None
            return progress
        if not self._outbox:
            return None
        token = self._outbox.popleft()
        if self.has_drained:
            self._on_change()
        return token

    # The group's end.

    @property
    def is_dropped(self) -> bool:
        """Nobody waits for this row any more: it was closed, or its session is cancelled."""
        return self._closed or self.request.cancellation.reason is not None

    @property
    def has_ended(self) -> bool:
        return self._ended

    @property
    def room(self) -> int:
        """How many more tokens the outbox takes."""
        return self._outbox_tokens - len(self._outbox)

    @property
    def has_drained(self) -> bool:
        """The reader has caught up so far that a resting row may go on; half empty, so that it does not flutter."""
        return len(self._outbox) * 2 <= self._outbox_tokens

    def report_progress(self, progress: RowProgress) -> None:
        """Replace what has not been read: only the latest progress counts."""
        self._progress = progress
        self._wake()

    def deliver(self, token: SampledToken) -> None:
        """Hand a token over; the group sees to it that there is room, also for one already on its way."""
        if not (self._closed or self._ended):
            self._outbox.append(token)
            self._wake()

    def finish(self, reason: FinishReason) -> None:
        """The answer is complete; what waits can still be read."""
        if not self._ended:
            self._finish_reason = reason
            self._settle()

    def fail(self, error: BaseException) -> None:
        """The row ends with `error`, after the tokens that wait."""
        if not self._ended:
            self._failure = error
            self._settle()

    def leave(self) -> None:
        """The dropped row has left the group."""
        if self._ended:
            return
        if (reason := self.request.cancellation.reason) is not None:
            self._failure = SessionCancelledError(reason)
        self._outbox.clear()
        self._progress = None
        self._settle()

    def _settle(self) -> None:
        self._ended = True
        self._unsubscribe()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

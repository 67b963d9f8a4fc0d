"""Where committed tokens go: to a reader, into a reserved buffer, or to a callback."""

import inspect
from array import array
from collections.abc import Awaitable, Callable
from typing import Protocol

from engine.contracts import Committed, Progress
from engine.execution.batches import TokenBatch
from engine.execution.event_queue import EventQueue
from engine.execution.idle_timer import IdleTimer
from engine.execution.refusals import Refusal, RefusedError
from engine.execution.window import PublicationWindow

OnTokens = Callable[[TokenBatch], Awaitable[object] | object]


class Reservation(Protocol):
    """Memory for token ids, lent to a session.

    `buffer` is one-dimensional and writable with format "I". After `release` the session writes no more, but its
    outcome keeps a view of the buffer: the lender may drop the memory, and must not use it for anything else.
    """

    @property
    def buffer(self) -> memoryview: ...

    def release(self) -> None: ...


Reserve = Callable[[int], Reservation]


class Delivery(Protocol):
    """Takes checked batches, one at a time, and counts the tokens taken."""

    @property
    def committed_tokens(self) -> int: ...

    def reserve(self, tokens: int) -> None:
        """Make room for at most `tokens` tokens, before the run exists."""

    async def deliver(self, batch: TokenBatch) -> object:
        """Take one batch; what it answers is the answer of the commit."""

    async def report(self, progress: Progress) -> None:
        """Take one progress event."""

    def release(self) -> None:
        """Give back what `reserve` took, after the run was closed."""

    def output(self) -> memoryview | None:
        """A view of the tokens taken, once a reservation was released."""


class _Counting:
    """What the deliveries have in common."""

    def __init__(self) -> None:
        self.committed_tokens = 0

    def reserve(self, tokens: int) -> None:
        """Nothing to reserve: the queue bounds a stream, the owner bounds a callback."""

    async def report(self, progress: Progress) -> None:
        """Nobody reads progress outside a stream."""

    def release(self) -> None:
        """Nothing was reserved."""

    def output(self) -> memoryview | None:
        return None


class StreamDelivery(_Counting):
    """Cuts batches into parts that fit the queue; each waits for room and becomes one numbered event."""

    def __init__(self, queue: EventQueue, idle: IdleTimer, window: PublicationWindow, part_tokens: int) -> None:
        super().__init__()
        self._queue = queue
        self._idle = idle
        self._window = window
        self._part_tokens = part_tokens
        self._sequence = 0

    async def deliver(self, batch: TokenBatch) -> object:
        for part in batch.split(self._part_tokens):
            tokens = len(part.token_ids)
            if not self._queue.has_room(tokens):
                await self._wait_for_room(tokens)
            # No wait from here on: a cancellation can not come between the room and the event.
            self._queue.put_nowait(Committed(self._sequence, part.token_ids, part.logprobs, part.pieces), tokens)
            self._sequence += 1
            self.committed_tokens += tokens
        return None

    async def report(self, progress: Progress) -> None:
        await self._wait_for_room(0)
        self._queue.put_nowait(progress, 0)

    async def _wait_for_room(self, tokens: int) -> None:
        while not self._queue.has_room(tokens):
            if not self._queue.has_reader:
                self._idle.restart()
            await self._queue.room_changed()
            self._window.check()


class CollectDelivery(_Counting):
    """Writes token ids into one reserved buffer."""

    def __init__(self, reserve: Reserve) -> None:
        super().__init__()
        self._reserve = reserve
        self._reservation: Reservation | None = None
        self._buffer = memoryview(array("I"))
        self._output: memoryview | None = None

    def reserve(self, tokens: int) -> None:
        reservation = self._reserve(tokens)
        self._buffer = reservation.buffer
        self._reservation = reservation

    async def deliver(self, batch: TokenBatch) -> object:
        if batch.logprobs is not None:
            raise RefusedError(Refusal.LOGPROBS_NEED_STREAM)
        if batch.pieces is not None:
            raise RefusedError(Refusal.PIECES_NEED_STREAM)
        end = self.committed_tokens + len(batch.token_ids)
        if end > len(self._buffer):
            raise RefusedError(Refusal.BUFFER_OVERFLOW)
        self._buffer[self.committed_tokens : end] = memoryview(array("I", batch.token_ids))
        self.committed_tokens = end
        return None

    def release(self) -> None:
        if self._reservation is not None:
            # Made while the memory is still lent: the lender may release its own view of it.
            self._output = self._buffer[: self.committed_tokens]
            self._reservation.release()

    def output(self) -> memoryview | None:
        return self._output


class CallbackDelivery(_Counting):
    """Hands every batch whole to the session's owner."""

    def __init__(self, on_tokens: OnTokens) -> None:
        super().__init__()
        self._on_tokens = on_tokens

    async def deliver(self, batch: TokenBatch) -> object:
        self.committed_tokens += len(batch.token_ids)
        answer = self._on_tokens(batch)
        return await answer if inspect.isawaitable(answer) else answer

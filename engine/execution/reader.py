"""The reading end of a streaming session."""

from collections.abc import Awaitable, Callable
from typing import NoReturn, Self

from engine.contracts import SessionEvent
from engine.execution.event_queue import EventQueue
from engine.execution.idle_timer import IdleTimer
from engine.execution.refusals import Refusal, RefusedError


class SessionReader:
    """The one `EventIterator` of a session. Its first read starts the work; while it reads the session is not idle."""

    def __init__(
        self, queue: EventQueue, idle: IdleTimer, *, start: Callable[[], None], close: Callable[[], Awaitable[None]]
    ) -> None:
        self._queue = queue
        self._idle = idle
        self._start = start
        self._close = close
        self._entering = False
        """A read is on its way to the queue: what it calls there must not read."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionEvent:
        if self._entering or self._queue.has_reader:
            raise RefusedError(Refusal.CONCURRENT_NEXT)
        self._entering = True
        try:
            self._idle.stop()
            self._start()
        finally:
            self._entering = False
        try:
            await self._queue.filled()
            event = self._queue.take_nowait()
        finally:
            # Also when the read itself was cancelled: the reader may be gone for good.
            self._idle.restart()
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Leave early: close the session, and return once it is terminal."""
        await self._close()

    async def athrow(self, error: BaseException) -> NoReturn:
        """Leave early because of `error`: close the session, then raise it."""
        await self._close()
        raise error

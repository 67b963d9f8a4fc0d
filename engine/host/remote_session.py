"""A session whose work happens in the engine process."""

import asyncio
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, Self, TypeVar, cast

from engine.contracts import (
    CLEANUP_FAILED,
    CONSUMER_CLOSED,
    REQUESTED,
    Cancelled,
    Committed,
    Completed,
    Failed,
    Outcome,
    Problem,
    SessionEvent,
    SessionState,
)
from engine.contracts.outcomes import AnyOutcome
from engine.host.messages import Request
from engine.host.problems import failed_with

R_co = TypeVar("R_co", covariant=True)

WINDOW_EVENTS: Final = 64
"""So many events may be on the way or waiting here; more are granted in halves, as they are read."""


class RemoteChannel(Protocol):
    """Where a session that has started speaks to the engine. Calls never block, and after its end do nothing."""

    def grant(self, events: int) -> None: ...

    def cancel(self, reason: str) -> None: ...


OpenChannel = Callable[["RemoteSession[Any]"], RemoteChannel | None]
"""Begins a session in the engine, starting one if need be. None: that was impossible, and the session has ended."""


class RemoteSession(Generic[R_co]):
    """Implements `contracts.Session` over a channel, which it opens when the first event is asked for.

    What is read here is what the engine sent before the session ended; once a cancellation is recorded on this side
    nothing more is delivered. Belongs to the client's loop.
    """

    def __init__(self, request: Request, open_channel: "OpenChannel") -> None:
        self.request = request
        self._open_channel = open_channel
        self._channel: RemoteChannel | None = None
        self._state = SessionState.CREATED
        self._events: deque[SessionEvent] = deque()
        self._arrived = asyncio.Event()
        self._reason: str | None = None
        self._received_tokens = 0
        self._read_since_grant = 0
        self._has_reader = False
        self._is_reading = False
        self._outcome: AnyOutcome | None = None
        self._settled = asyncio.Event()

    @property
    def state(self) -> SessionState:
        """As far as this side knows: running from the first event on."""
        return self._state

    def __aiter__(self) -> "RemoteEvents":
        """Take the one reader. Dropping the last reference to it closes the session: nobody could ever read again."""
        if self._has_reader:
            raise RuntimeError("a session has one reader")
        self._has_reader = True
        reader = RemoteEvents(self)
        weakref.finalize(reader, self._reader_vanished, asyncio.get_running_loop()).atexit = False
        return reader

    async def cancel(self, reason: str = REQUESTED) -> None:
        self._cancel_nowait(reason)
        await self._settled.wait()

    async def close(self) -> None:
        await self.cancel(CONSUMER_CLOSED)

    async def outcome(self) -> Outcome[R_co]:
        await self._settled.wait()
        return cast(Outcome[R_co], self._outcome)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def next_event(self) -> SessionEvent:
        """The next event; StopAsyncIteration at the end. A caller cancelled while it waits takes nothing."""
        if self._is_reading:
            raise RuntimeError("another read is waiting")
        self._start()
        self._is_reading = True
        try:
            while not self._events and self._outcome is None:
                self._arrived.clear()
                await self._arrived.wait()
        finally:
            self._is_reading = False
        if not self._events:
            raise StopAsyncIteration
        self._count_read()
        return self._events.popleft()

    # -- what the connection tells ------------------------------------------------------------------------------------

    def deliver(self, event: SessionEvent) -> None:
        """The engine sent an event."""
        if self._reason is not None or self._outcome is not None:
            return
        if isinstance(event, Committed):
            self._received_tokens += len(event.token_ids)
        self._state = SessionState.RUNNING
        self._events.append(event)
        self._arrived.set()

    def end(self, outcome: AnyOutcome) -> None:
        """The engine's session ended. A cancellation recorded here first beats what crossed it on the way."""
        if self._reason is None or _stands_against_cancellation(outcome):
            self._settle(outcome)
        else:
            self._settle(Cancelled(self._reason, outcome.committed_tokens))

    def fail(self, problem: Problem) -> None:
        """The engine is gone; what has arrived stays readable."""
        self.end(failed_with(problem, self._received_tokens))

    def abandon(self, reason: str) -> None:
        """This side ends the engine, and waits for no answer of it."""
        self.end(Cancelled(reason, self._received_tokens))

    def _start(self) -> None:
        if self._state is SessionState.CREATED:
            self._state = SessionState.PREPARING
            self._channel = self._open_channel(self)

    def _cancel_nowait(self, reason: str) -> None:
        if self._outcome is not None or self._reason is not None:
            return
        self._reason = reason
        self._events.clear()
        if self._channel is None:
            self._settle(Cancelled(reason, 0))
        else:
            self._channel.cancel(reason)

    def _reader_vanished(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called by the garbage collector, on whichever thread it runs."""
        if self._outcome is None and not loop.is_closed():
            loop.call_soon_threadsafe(self._cancel_nowait, CONSUMER_CLOSED)

    def _settle(self, outcome: AnyOutcome) -> None:
        if isinstance(outcome, Cancelled):
            self._events.clear()
        self._outcome = outcome
        self._state = SessionState.TERMINAL
        self._settled.set()
        self._arrived.set()

    def _count_read(self) -> None:
        self._read_since_grant += 1
        if self._read_since_grant >= WINDOW_EVENTS // 2 and self._channel is not None and self._outcome is None:
            self._channel.grant(self._read_since_grant)
            self._read_since_grant = 0


class RemoteEvents:
    """The session's one reader."""

    def __init__(self, session: RemoteSession[Any]) -> None:
        self._session = session

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionEvent:
        return await self._session.next_event()

    async def aclose(self) -> None:
        """Leave early: cancels the session as `consumer_closed`."""
        await self._session.close()


def _stands_against_cancellation(outcome: AnyOutcome) -> bool:
    match outcome:
        case Cancelled():
            return True
        case Failed(error=failure):
            return failure.code == CLEANUP_FAILED
        case Completed():
            return False

"""The bounded queue between one producer and one reader on one loop."""

import asyncio
from collections import deque

from engine.contracts import Committed, Progress, SessionEvent


class EventQueue:
    """Events in order, at most `max_events` of them and `max_tokens` tokens. Never held across a wait by either side.

    An event that has woken the waiting reader is that reader's: it keeps its place until taken, and dropping spares it.
    """

    def __init__(self, max_events: int, max_tokens: int) -> None:
        self._max_events = max_events
        self._max_tokens = max_tokens
        self._events: deque[SessionEvent] = deque()
        self._tokens = 0
        self._dropped = False
        self._ended = False
        self._reader: asyncio.Future[None] | None = None
        self._producer: asyncio.Future[None] | None = None

    @property
    def has_reader(self) -> bool:
        """A read is waiting; a second one would be refused."""
        return self._reader is not None

    def __len__(self) -> int:
        return len(self._events)

    @property
    def tokens(self) -> int:
        return self._tokens

    def has_room(self, tokens: int) -> bool:
        """Whether one more event of `tokens` tokens stays within both bounds; progress has none and needs none."""
        fits = tokens == 0 or self._tokens + tokens <= self._max_tokens
        return fits and len(self._events) < self._max_events

    def put_nowait(self, event: SessionEvent) -> None:
        """Queue one event. The caller has asked for room, with no wait in between."""
        self._events.append(event)
        self._tokens += _tokens_of(event)
        _wake(self._reader)

    async def room_changed(self) -> None:
        """Return once something was taken or dropped, or `release_producer` was called."""
        self._producer = asyncio.get_running_loop().create_future()
        try:
            await self._producer
        finally:
            self._producer = None

    def release_producer(self) -> None:
        """Wake the blocked producer, which then looks again whether it may go on."""
        _wake(self._producer)

    async def take(self) -> SessionEvent | None:
        """The next event, waiting for it if need be; None at the end. A cancelled wait takes nothing.

        The caller has asked whether a reader is waiting already.
        """
        if not self._events and not self._ended:
            await self._event_or_end()
        return self._pop() if self._events else None

    def drop(self) -> None:
        """Forget every event nobody has read, and wake the producer."""
        self._dropped = True
        is_promised = self._reader is not None and self._reader.done()
        kept = self._events[0] if is_promised and self._events else None
        self._forget_events()
        if kept is not None:
            self._events.append(kept)
        self.release_producer()

    def end(self) -> None:
        """Nothing comes any more: what is queued can still be read, then reads answer None."""
        self._ended = True
        _wake(self._reader)

    async def _event_or_end(self) -> None:
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        except asyncio.CancelledError:
            if self._dropped:
                self._forget_events()
            raise
        finally:
            self._reader = None

    def _pop(self) -> SessionEvent:
        event = self._events.popleft()
        self._tokens -= _tokens_of(event)
        _wake(self._producer)
        return event

    def _forget_events(self) -> None:
        self._events.clear()
        self._tokens = 0


def _tokens_of(event: SessionEvent) -> int:
    match event:
        case Committed():
            return len(event.token_ids)
        case Progress():  # pragma: no branch
            return 0


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)

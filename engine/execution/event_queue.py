"""The bounded queue between one producer and one reader on one loop."""

import asyncio
from collections import deque

from engine.contracts import SessionEvent


class EventQueue:
    """Events in order, at most `max_events` of them, with at most `max_tokens` tokens.

    An event that has woken the waiting reader is that reader's: it keeps its place until taken, and dropping spares it.
    """

    def __init__(self, max_events: int, max_tokens: int) -> None:
        self._max_events = max_events
        self._max_tokens = max_tokens
        self._events: deque[tuple[SessionEvent, int]] = deque()
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
        """Whether one more event of `tokens` tokens (none for progress) stays within both bounds."""
        return len(self._events) < self._max_events and self._tokens + tokens <= self._max_tokens

    def put_nowait(self, event: SessionEvent, tokens: int) -> None:
        """Queue one event of `tokens` tokens. The caller has asked for room, with no wait in between."""
        self._events.append((event, tokens))
        self._tokens += tokens
        _wake(self._reader)

    async def room_changed(self) -> None:
        """Return once something was taken or dropped, or `release_producer` was called."""
        self._producer = asyncio.get_running_loop().create_future()
        await self._producer

    def release_producer(self) -> None:
        """Wake the blocked producer, which then looks again whether it may go on."""
        _wake(self._producer)

    async def filled(self) -> None:
        """Return once `take_nowait` has an answer. The caller has asked whether a reader is waiting already."""
        if self._events or self._ended:
            return
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await self._reader
        except asyncio.CancelledError:
            if self._dropped:
                self._keep(0)
            raise
        finally:
            self._reader = None

    def take_nowait(self) -> SessionEvent | None:
        """The next event, or None when there is none."""
        if not self._events:
            return None
        event, tokens = self._events.popleft()
        self._tokens -= tokens
        _wake(self._producer)
        return event

    def drop(self) -> None:
        """Forget every event nobody has read, and wake the producer."""
        self._dropped = True
        # Where there is an event and a reader, the event has woken the reader.
        self._keep(1 if self.has_reader else 0)
        self.release_producer()

    def end(self) -> None:
        """Nothing comes any more: what is queued can still be read, then there is nothing to take."""
        self._ended = True
        _wake(self._reader)

    def _keep(self, events: int) -> None:
        """Forget all but the first so many events."""
        while len(self._events) > events:
            _, tokens = self._events.pop()
            self._tokens -= tokens


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)

"""One session of the engine, served over the wire as far as its credit reaches."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from typing import Any

from engine.contracts import Session
from engine.host.messages import Ended, Event
from engine.host.problems import engine_fault, failed_with

logger = logging.getLogger(__name__)

Send = Callable[[Event | Ended], Awaitable[None]]


class Channel:
    """Owns its session: reads it to the end, one event for each credit.

    While there is no credit, nobody reads: the session's own bounded queue fills and its work pauses. What a session
    that has ended still holds is bounded by that queue, so the rest goes out without credit: the outcome never waits
    for a slow reader.
    """

    def __init__(self, number: int, session: Session[Any], credit: int, send: Send) -> None:
        self._number = number
        self._session = session
        self._credit: float = credit
        self._may_read = asyncio.Event()
        self._send = send

    def grant(self, events: int) -> None:
        """Let so many more events go out."""
        self._credit += events
        self._may_read.set()

    async def cancel(self, reason: str) -> None:
        """Cancel the session; returns once it is terminal."""
        await self._session.cancel(reason)

    async def serve(self) -> None:
        """Send events until the session ends, then its outcome."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send_events())
                tasks.create_task(self._lift_limit_at_end())
            await self._send(Ended(self._number, await self._session.outcome()))
        except Exception as error:  # the border of the engine: the app must hear of the end, whatever broke
            logger.exception("A session broke its promise")
            await self._session.close()
            await self._send(Ended(self._number, failed_with(engine_fault(error))))

    async def _send_events(self) -> None:
        reader = aiter(self._session)
        while True:
            await self._wait_for_credit()
            try:
                event = await anext(reader)
            except StopAsyncIteration:
                return
            self._credit -= 1
            await self._send(Event(self._number, event))

    async def _wait_for_credit(self) -> None:
        while self._credit < 1:
            self._may_read.clear()
            await self._may_read.wait()

    async def _lift_limit_at_end(self) -> None:
        await self._session.outcome()
        self._credit = math.inf
        self._may_read.set()

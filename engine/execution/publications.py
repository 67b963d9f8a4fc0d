"""What a run says, checked before anything of it shows."""

import asyncio
import math
from collections.abc import Sequence

from engine.contracts import Progress, TokenLogprobs, TokenPiece
from engine.execution.batches import checked_batch
from engine.execution.deliveries import Delivery
from engine.execution.refusals import Refusal, RefusedError
from engine.execution.window import PublicationWindow


class Publications:
    """The `Output` of one run: one publication at a time, checked in a fixed order, then delivered."""

    def __init__(self, window: PublicationWindow, delivery: Delivery, max_top_logprobs: int) -> None:
        self._window = window
        self._delivery = delivery
        self._max_top_logprobs = max_top_logprobs
        self._token_limit = 0
        self._is_open = False
        self._is_stopped = False
        self._closing: asyncio.Future[None] | None = None

    def allow(self, tokens: int) -> None:
        """At most so many tokens will be taken."""
        self._token_limit = tokens

    async def commit(
        self,
        token_ids: Sequence[int],
        logprobs: Sequence[TokenLogprobs | None] | None = None,
        pieces: Sequence[TokenPiece] | None = None,
    ) -> object:
        self._begin()
        try:
            self._window.check()
            if self._is_stopped:
                raise RefusedError(Refusal.PUBLISHED_AFTER_STOP)
            room = self._token_limit - self._delivery.committed_tokens
            batch = checked_batch(token_ids, logprobs, pieces, room=room, max_top=self._max_top_logprobs)
            answer = await self._delivery.deliver(batch)
            self._is_stopped = answer is False
            return answer
        finally:
            self._end()

    async def progress(self, completed: float, total: float | None = None, phase: str | None = None) -> None:
        self._begin()
        try:
            self._window.check()
            _check_progress(completed, total)
            await self._delivery.report(Progress(completed, total, phase))
        finally:
            self._end()

    async def closed(self) -> None:
        """Return once no publication is open: one that was begun and not awaited may still run in its owner's code."""
        while self._is_open:
            self._closing = asyncio.get_running_loop().create_future()
            await self._closing

    def _begin(self) -> None:
        if self._is_open:
            raise RefusedError(Refusal.OVERLAPPING_PUBLICATION)
        self._is_open = True

    def _end(self) -> None:
        self._is_open = False
        if self._closing is not None and not self._closing.done():
            self._closing.set_result(None)


def _check_progress(completed: float, total: float | None) -> None:
    if not _is_finite(completed) or completed < 0:
        raise RefusedError(Refusal.INVALID_PROGRESS)
    if total is not None and (not _is_finite(total) or total < completed):
        raise RefusedError(Refusal.INVALID_PROGRESS)


def _is_finite(value: object) -> bool:
    """NaN compares false with everything, so it is asked for by name; an int of any size is finite."""
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))

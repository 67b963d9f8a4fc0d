"""Measures what the execution core costs for each committed token, and that it does not grow."""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from engine.contracts import Cancellation, Output
from engine.execution.session import GenerationSession, SessionLimits
from engine.runtime.clock import AsyncioClock

TOKENS = 100_000
LONG_RUN_TOKENS = 1_000_000
WARM_UP_TOKENS = 10_000
ROUNDS = 5
QUEUED_EVENTS = 64
IDLE_MS = 60_000.0

Exchange = Callable[[], Coroutine[Any, Any, None]]


class CountingMethod:
    """Plan and run in one: commits token after token, one a batch.

    With `waits`, it gives way after each, as a decode step does, so that the reader has always come back to wait.
    """

    def __init__(self, tokens: int, *, waits: bool) -> None:
        self.output_token_limit = tokens
        self._waits = waits

    async def prepare(self, _cancellation: Cancellation) -> "CountingMethod":
        return self

    async def create_run(self) -> "CountingMethod":
        return self

    async def execute(self, output: Output) -> int:
        for token in range(self.output_token_limit):
            await output.commit((token,))
            if self._waits:
                await asyncio.sleep(0)
        return self.output_token_limit

    async def release(self) -> None:
        """It holds nothing."""

    async def close(self) -> None:
        """It holds nothing."""


def opened(tokens: int, *, waits: bool, idle_timeout_ms: float | None = None) -> GenerationSession[int]:
    limits = SessionLimits(max_queued_events=QUEUED_EVENTS, idle_timeout_ms=idle_timeout_ms)
    return GenerationSession(CountingMethod(tokens, waits=waits).prepare, clock=AsyncioClock(), limits=limits)


def through_a_session(*, waits: bool, idle_timeout_ms: float | None = None) -> Exchange:
    async def exchange() -> None:
        async for _ in opened(TOKENS, waits=waits, idle_timeout_ms=idle_timeout_ms):
            pass

    return exchange


def through_a_queue(*, waits: bool) -> Exchange:
    """The same exchange over a bare `asyncio.Queue` of the same bound."""

    async def exchange() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(QUEUED_EVENTS)

        async def produce() -> None:
            for token in range(TOKENS):
                await queue.put(token)
                if waits:
                    await asyncio.sleep(0)

        producer = asyncio.create_task(produce())
        for _ in range(TOKENS):
            await queue.get()
        await producer

    return exchange


def microseconds_per_token(*exchanges: Exchange) -> list[float]:
    """Processor time of each exchange, the best of several rounds in turn: disturbances only ever make one slower."""
    rounds = [[_seconds(exchange) for exchange in exchanges] for _ in range(ROUNDS)]
    return [min(seconds) / TOKENS * 1e6 for seconds in zip(*rounds, strict=True)]


def _seconds(exchange: Exchange) -> float:
    started = time.process_time()
    asyncio.run(exchange())
    return time.process_time() - started


async def blocks_grown() -> int:
    """How many more blocks of memory Python holds after a million tokens than after the first ten thousand."""
    count, before = 0, 0
    async for _ in opened(LONG_RUN_TOKENS, waits=False):
        count += 1
        if count == WARM_UP_TOKENS:
            gc.collect()
            before = sys.getallocatedblocks()
    gc.collect()
    return sys.getallocatedblocks() - before


def figures() -> list[dict[str, object]]:
    """One row a measurement; ratios are against the queue that the same kind of producer fills."""
    rows: list[dict[str, object]] = []
    for waits, producer in ((True, "reader awaiting"), (False, "filled and drained")):
        queue, session, guarded = microseconds_per_token(
            through_a_queue(waits=waits),
            through_a_session(waits=waits),
            through_a_session(waits=waits, idle_timeout_ms=IDLE_MS),
        )
        rows += [
            _row(f"asyncio.Queue, {producer}", queue, "us/token"),
            _row(f"session, {producer}", session, "us/token", _times(session, queue)),
            _row(f"session with idle time, {producer}", guarded, "us/token", _times(guarded, queue)),
        ]
    return [
        *rows,
        _row("session, memory grown", asyncio.run(blocks_grown()), "blocks", f"over {LONG_RUN_TOKENS:,} tokens"),
    ]


def _times(cost: float, reference: float) -> str:
    return f"{cost / reference:.2f} x asyncio.Queue"


def _row(name: str, value: float, unit: str, versus: str = "") -> dict[str, object]:
    return {"name": name, "value": value, "unit": unit, "versus": versus}

"""Measures what the execution core costs for each committed token, and that it does not grow."""

import asyncio
import gc
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from typing import Any

from engine.contracts import Cancellation, Output
from engine.execution.session import GenerationSession, SessionLimits
from engine.runtime.clock import AsyncioClock

TOKENS = 200_000
LONG_RUN_TOKENS = 1_000_000
ROUNDS = 5
QUEUED_EVENTS = 64

Bench = Callable[[int], Coroutine[Any, Any, None]]


class CountingMethod:
    """Plan and run in one: commits token after token, one a batch."""

    def __init__(self, tokens: int) -> None:
        self.output_token_limit = tokens

    async def prepare(self, _cancellation: Cancellation) -> "CountingMethod":
        return self

    async def create_run(self) -> "CountingMethod":
        return self

    async def execute(self, output: Output) -> int:
        for token in range(self.output_token_limit):
            await output.commit((token,))
        return self.output_token_limit

    async def release(self) -> None: ...

    async def close(self) -> None: ...


def open_session(tokens: int, idle_timeout_ms: float | None) -> GenerationSession[int]:
    limits = SessionLimits(max_queued_events=QUEUED_EVENTS, idle_timeout_ms=idle_timeout_ms)
    return GenerationSession(CountingMethod(tokens).prepare, clock=AsyncioClock(), limits=limits)


async def through_a_session(tokens: int, idle_timeout_ms: float | None = None) -> None:
    async for _ in open_session(tokens, idle_timeout_ms):
        pass


async def through_an_idle_guarded_session(tokens: int) -> None:
    await through_a_session(tokens, idle_timeout_ms=60_000)


async def through_a_queue(tokens: int) -> None:
    """The same exchange over a bare `asyncio.Queue` of the same bound."""
    queue: asyncio.Queue[int] = asyncio.Queue(QUEUED_EVENTS)

    async def produce() -> None:
        for token in range(tokens):
            await queue.put(token)

    producer = asyncio.create_task(produce())
    for _ in range(tokens):
        await queue.get()
    await producer


def microseconds_per_token(bench: Bench) -> float:
    """The best of several rounds: what disturbs a round only ever makes it slower."""
    return min(_seconds(bench) for _ in range(ROUNDS)) / TOKENS * 1e6


def _seconds(bench: Bench) -> float:
    started = time.perf_counter()
    asyncio.run(bench(TOKENS))
    return time.perf_counter() - started


async def bytes_grown(tokens: int) -> int:
    """How much more Python memory is in use after `tokens` tokens of one session than after its first ten thousand."""
    at_first = 0
    count = 0
    async for _ in open_session(tokens, None):
        count += 1
        if count == 10_000:
            gc.collect()
            tracemalloc.start()
            at_first = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - at_first
    tracemalloc.stop()
    return grown


def figures() -> list[dict[str, object]]:
    queue = microseconds_per_token(through_a_queue)
    session = microseconds_per_token(through_a_session)
    guarded = microseconds_per_token(through_an_idle_guarded_session)
    kilobytes = asyncio.run(bytes_grown(LONG_RUN_TOKENS)) / 1024
    return [
        {"name": "asyncio.Queue, a token", "value": queue, "unit": "us", "versus": ""},
        {
            "name": "session, a token",
            "value": session,
            "unit": "us",
            "versus": f"{session / queue:.2f} x asyncio.Queue",
        },
        {
            "name": "session with idle timeout, a token",
            "value": guarded,
            "unit": "us",
            "versus": f"{guarded / queue:.2f} x asyncio.Queue",
        },
        {
            "name": "session, memory grown",
            "value": kilobytes,
            "unit": "KiB",
            "versus": f"over {LONG_RUN_TOKENS:,} tokens",
        },
    ]

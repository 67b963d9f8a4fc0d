"""How little rows of the starter model disturb one another, and what stored work saves."""

import asyncio
import statistics
import time

import mlx.core as mx

from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel, load_model
from engine.backend.row import Row, RowProgress, SampledToken
from engine.contracts import SessionCancelledError
from engine.execution.scheduler import drive
from engine.runtime.clock import AsyncioClock
from tests.bench._figure import Figure
from tests.bench.decode import starter_folder
from tests.engine.backend.driving import ManualCancellation, request

LONG_PROMPT = [4000 + index * 37 % 30_000 for index in range(2000)]
SETTLED = 20
"""Tokens of each row before anything is measured."""


class Follower:
    """Reads one row and notes when each token came."""

    def __init__(self, row: Row) -> None:
        self.arrivals: list[float] = []
        self.settled = asyncio.Event()
        self.reading = asyncio.create_task(self._read(row))

    async def _read(self, row: Row) -> None:
        while (step := await row.next_step()) is not None:
            if isinstance(step, SampledToken):
                self.arrivals.append(time.perf_counter())
                if len(self.arrivals) == SETTLED:
                    self.settled.set()

    def gaps(self, start: float, end: float) -> list[float]:
        """Seconds between tokens, for the tokens that came between two moments."""
        pairs = zip(self.arrivals, self.arrivals[1:], strict=False)
        return [after - before for before, after in pairs if start <= after <= end]


async def _first_token_seconds(group: MlxExecutionGroup, prompt: list[int]) -> float:
    started = time.perf_counter()
    row = group.submit(request(prompt, 2))
    while isinstance(await row.next_step(), RowProgress):
        pass
    seconds = time.perf_counter() - started
    while await row.next_step() is not None:
        pass
    return seconds


async def _stall(group: MlxExecutionGroup) -> float:
    """The longest gap of three decoding rows while a long prompt is read, in their usual gaps."""
    rows = [group.submit(request([504, 6785, 282 + row], 400)) for row in range(3)]
    followers = [Follower(row) for row in rows]
    for follower in followers:
        await follower.settled.wait()
    began = time.perf_counter()
    await _first_token_seconds(group, LONG_PROMPT)
    ended = time.perf_counter()
    usual = statistics.median(followers[0].gaps(0.0, began)[5:])
    longest = max(gap for follower in followers for gap in follower.gaps(began, ended))
    for row, follower in zip(rows, followers, strict=True):
        row.close()
        await follower.reading
    return longest / usual


async def _stop(group: MlxExecutionGroup) -> float:
    """Seconds from a Stop in mid-answer until the row has left the group."""
    cancellation = ManualCancellation()
    row = group.submit(request([504, 6785, 282], 400, cancellation=cancellation))
    for _ in range(SETTLED):
        await row.next_step()
    stopped = time.perf_counter()
    cancellation.cancel()
    try:
        while True:
            await row.next_step()
    except SessionCancelledError:
        return time.perf_counter() - stopped


async def _measure(loaded: LoadedModel) -> list[Figure]:
    clock = AsyncioClock()
    group = MlxExecutionGroup(loaded, clock)
    driver = asyncio.create_task(drive(group, clock))
    first = await _first_token_seconds(group, [*LONG_PROMPT, 1])
    second = await _first_token_seconds(group, [*LONG_PROMPT, 2, 3, 4])
    stop = await _stop(group)
    group.close()
    await driver
    fresh = MlxExecutionGroup(loaded, clock)
    driver = asyncio.create_task(drive(fresh, clock))
    stall = await _stall(fresh)
    fresh.close()
    await driver
    return [
        {"name": "sharing.first_turn", "value": first, "unit": "s", "versus": ""},
        {"name": "sharing.second_turn_ratio", "value": first / second, "unit": "ratio", "versus": "the first turn"},
        {"name": "sharing.stop", "value": stop, "unit": "s", "versus": ""},
        {"name": "sharing.longest_stall", "value": stall, "unit": "ratio", "versus": "an ordinary step of three rows"},
    ]


def figures() -> list[Figure]:
    """Time to first token of a chat's first and second turn; a Stop; the stall that a long prompt causes."""
    loaded = load_model(starter_folder())
    mx.eval(loaded.model.state)
    return asyncio.run(_measure(loaded))

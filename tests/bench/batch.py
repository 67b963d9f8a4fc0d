"""Several rows at once on the starter model: their speed against mlx-lm's own batches in the same run."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
from mlx_lm.generate import BatchGenerator

from engine.backend.group import GroupLimits, MlxExecutionGroup
from engine.backend.loading import LoadedModel, load_model
from engine.backend.row import Row, SampledToken
from engine.contracts import CaptureSettings
from engine.execution.scheduler import drive
from engine.runtime.clock import AsyncioClock
from tests.bench._figure import Figure
from tests.bench.decode import starter_folder
from tests.engine.backend.driving import request

TOKENS = 32
ROUNDS = 3
NOTHING = CaptureSettings(logprob=False)
TOP_20 = CaptureSettings(top_k=20)

now = time.perf_counter


def _prompts(rows: int) -> list[list[int]]:
    return [[504, 6785, 282 + row, 28, 338] for row in range(rows)]


def _speed(arrivals: Sequence[float], rows: int) -> float:
    """Tokens per second of all rows together, from their second tokens on: the first ones waited for the prompts."""
    warm = arrivals[2 * rows - 1 :]
    return (len(warm) - 1) / (warm[-1] - warm[0])


async def _candor(loaded: LoadedModel, rows: int, captures: CaptureSettings) -> float:
    clock = AsyncioClock()
    group = MlxExecutionGroup(loaded, clock, GroupLimits(store_bytes=0))
    driver = asyncio.create_task(drive(group, clock))
    arrivals: list[float] = []

    async def follow(row: Row) -> None:
        while (step := await row.next_step()) is not None:
            if isinstance(step, SampledToken):
                arrivals.append(now())

    submitted = [group.submit(request(prompt, TOKENS, captures=captures)) for prompt in _prompts(rows)]
    await asyncio.gather(*(follow(row) for row in submitted))
    group.close()
    await driver
    return _speed(arrivals, rows)


def _batch_generator(loaded: LoadedModel, rows: int) -> float:
    generator: Any = BatchGenerator(loaded.model, stop_tokens=[], max_tokens=TOKENS)
    generator.insert(_prompts(rows), [TOKENS] * rows)
    arrivals: list[float] = []
    while answers := generator.next_generated():
        arrivals.extend(now() for _ in answers)
    generator.close()
    return _speed(arrivals, rows)


def _of_rows(loaded: LoadedModel, rows: int) -> list[Figure]:
    speeds: dict[str, list[float]] = {"BatchGenerator": [], "plain": [], "top_20": []}
    for _ in range(ROUNDS):
        speeds["BatchGenerator"].append(_batch_generator(loaded, rows))
        speeds["plain"].append(asyncio.run(_candor(loaded, rows, NOTHING)))
        speeds["top_20"].append(asyncio.run(_candor(loaded, rows, TOP_20)))
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    return [
        {"name": f"batch.{rows}_rows", "value": medians["plain"], "unit": "tokens/s", "versus": ""},
        _ratio(f"batch.{rows}_rows_ratio", speeds["plain"], speeds["BatchGenerator"], "mlx_lm BatchGenerator"),
        _ratio(f"batch.{rows}_rows_top_20_ratio", speeds["top_20"], speeds["plain"], "the same without captures"),
    ]


def _ratio(name: str, mine: Sequence[float], theirs: Sequence[float], versus: str) -> Figure:
    """The median of the ratios taken round by round, so that a machine that slows down counts for both."""
    value = statistics.median(one / other for one, other in zip(mine, theirs, strict=True))
    return {"name": name, "value": value, "unit": "ratio", "versus": versus}


def figures() -> list[Figure]:
    """Speeds of four and of eight rows, and what capturing costs them."""
    loaded = load_model(starter_folder())
    mx.eval(loaded.model.state)
    return [figure for rows in (4, 8) for figure in _of_rows(loaded, rows)]

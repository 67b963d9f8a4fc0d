"""What tests need around a group: a clock, a cancellation, a driver that stops when nothing is left to do."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.backend.row import Row, RowProgress, RowRequest, SampledToken
from engine.contracts import CaptureSettings, SamplingSettings, SessionCancelledError, Timer, TokenLogprobs, Unsubscribe
from engine.sampling.mlx_lm_parts import import_part

GREEDY = SamplingSettings(temperature=0.0, seed=0)


class StandingClock:
    """A clock that never moves: every chunk was read in no time."""

    def now_ms(self) -> float:
        return 0.0

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        raise NotImplementedError("a group arms no timers")


class ManualCancellation:
    """A cancellation whose writing end is `cancel`."""

    def __init__(self) -> None:
        self.reason: str | None = None
        self._listeners: list[Callable[[str], None]] = []

    def cancel(self, reason: str = "requested") -> None:
        self.reason = self.reason or reason
        for listener in self._listeners:
            listener(self.reason)

    def subscribe(self, listener: Callable[[str], None]) -> Unsubscribe:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def raise_if_cancelled(self) -> None:
        if self.reason is not None:
            raise SessionCancelledError(self.reason)


@dataclass
class Answer:
    """Everything a reader saw of a row."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs | None] = field(default_factory=list)
    progress: list[RowProgress] = field(default_factory=list)


def request(prompt: Sequence[int], max_tokens: int = 20, **changes: Any) -> RowRequest:
    """A greedy row without captures that no token ends, unless `changes` say otherwise."""
    settings: dict[str, Any] = {
        "sampling": GREEDY,
        "captures": CaptureSettings(logprob=False),
        "end_ids": frozenset(),
        "cancellation": ManualCancellation(),
    }
    return RowRequest(prompt=tuple(prompt), max_tokens=max_tokens, **(settings | changes))


async def read(row: Row, answer: Answer | None = None) -> Answer:
    """Read to the end; what arrived before a failure is in `answer`."""
    answer = answer if answer is not None else Answer()
    while (step := await row.next_step()) is not None:
        match step:
            case SampledToken(id=token_id, logprobs=logprobs):
                answer.ids.append(token_id)
                answer.logprobs.append(logprobs)
            case RowProgress():
                answer.progress.append(step)
    return answer


async def run_turn(group: MlxExecutionGroup) -> None:
    """What the scheduler does between two yields, in its simplest form."""
    group.prune_cancelled()
    while group.queued and group.active + (group.preparing_rows or 0) < group.max_active:
        group.admit_next()
    if group.mixed_preparation is not None:
        await group.advance_mixed(group.max_iteration_tokens or 0)
    elif group.preparing:
        await group.advance_preparation()
    elif group.active:
        try:
            await group.advance()
        except Exception as error:  # noqa: BLE001 - as the scheduler does
            group.fail_active(error)
    await asyncio.sleep(0)


async def run_until_idle(group: MlxExecutionGroup) -> None:
    """Turns until nothing is queued, in preparation or active."""
    while group.queued or group.preparing or group.active:
        await run_turn(group)


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until `condition` holds; fails when it does not in any sensible number of turns."""
    for _ in range(100_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came about")


async def answers(group: MlxExecutionGroup, *requests: RowRequest) -> list[Answer]:
    """Submit all at once, and read all to the end."""
    readers = [asyncio.create_task(read(group.submit(each))) for each in requests]
    while not all(reader.done() for reader in readers):
        await run_turn(group)
    return [await reader for reader in readers]


async def solo(loaded: LoadedModel, each: RowRequest) -> Answer:
    """The answer of a group that has nothing else to do."""
    (answer,) = await answers(MlxExecutionGroup(loaded, StandingClock()), each)
    return answer


def greedy_reference(loaded: LoadedModel, prompt: Sequence[int], count: int) -> list[int]:
    """Greedy tokens by the plainest use of mlx-lm: one pass over the prompt, then one token at a time."""
    cache = import_part("models.cache").make_prompt_cache(loaded.model)
    model: Any = loaded.model
    tokens: list[int] = []
    inputs = mx.array([list(prompt)])
    for _ in range(count):
        best: Any = mx.argmax(model(inputs, cache=cache)[:, -1], axis=-1)
        tokens.append(best.item())
        inputs = best[None]
    return tokens


def full_logprobs(loaded: LoadedModel, ids: Sequence[int]) -> mx.array:
    """Log-probabilities [positions, vocabulary] of one pass over `ids` without a cache."""
    model: Any = loaded.model
    logits = model(mx.array([list(ids)]))[0].astype(mx.float32)
    result: mx.array = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    return result

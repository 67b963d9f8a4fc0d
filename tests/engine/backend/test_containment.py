"""What goes wrong in one row stays in that row; what goes wrong in the model ends the rows it held, and no more."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from engine.backend.chunk_size import ChunkSize
from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.contracts import SamplingSettings
from engine.sampling.chain import Chain, Draw, RowDraw
from tests.engine.backend.driving import (
    Answer,
    StandingClock,
    answers,
    greedy_reference,
    read,
    request,
    run_turn,
    solo,
)
from tests.engine.backend.tiny import CONFIGS, tiny_model

PROMPTS = ([5, 9, 3], list(range(1, 41)), [7, 7, 8, 60, 2, 1, 90])
FAULTY_SEED = 666
STEP_FAILED = "The decode step failed: InjectedError"


class InjectedError(Exception):
    """The fault a test put in."""


class FaultySampler:
    """A chain that raises when it is to draw the `number`th token of the row with the faulty seed."""

    def __init__(self, settings: Sequence[SamplingSettings], number: int) -> None:
        self._chain = Chain(settings)
        self._seeds = [each.seed for each in settings]
        self._number = number

    @property
    def windows(self) -> Sequence[int]:
        return self._chain.windows

    def __call__(self, logits: mx.array, inputs: mx.array, rows: Sequence[RowDraw]) -> Draw:
        if any(seed == FAULTY_SEED and row.number == self._number for seed, row in zip(self._seeds, rows, strict=True)):
            raise InjectedError
        return self._chain(logits, inputs, rows)


class FaultyNetwork:
    """A network that raises when `is_due` says so of its call number and inputs."""

    def __init__(self, network: Any, is_due: Callable[[int, mx.array], bool]) -> None:
        self._network = network
        self._is_due = is_due
        self._calls = 0

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self._calls += 1
        if self._is_due(self._calls, inputs):
            raise InjectedError
        logits: mx.array = self._network(inputs, cache=cache)
        return logits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._network, name)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return tiny_model()


def with_faults(loaded: LoadedModel, is_due: Callable[[int, mx.array], bool]) -> LoadedModel:
    network: Any = FaultyNetwork(loaded.model, is_due)
    return LoadedModel(network, Path("faulty"), CONFIGS["llama"], 0, SamplingSettings())


async def outcomes(group: MlxExecutionGroup, *requests: Any) -> list[tuple[Answer, BaseException | None]]:
    """What each reader saw, and the failure that ended it."""
    seen = [Answer() for _ in requests]
    readers = [
        asyncio.create_task(read(group.submit(each), answer)) for each, answer in zip(requests, seen, strict=True)
    ]
    while not all(reader.done() for reader in readers):
        await run_turn(group)
    return [(answer, reader.exception()) for answer, reader in zip(seen, readers, strict=True)]


@pytest.mark.parametrize("number", [0, 1, 2, 7, 19])
async def test_a_failing_sampler_ends_its_own_row_at_every_step(loaded: LoadedModel, number: int) -> None:
    group = MlxExecutionGroup(loaded, StandingClock(), create_sampler=lambda settings: FaultySampler(settings, number))
    faulty = SamplingSettings(temperature=0.0, seed=FAULTY_SEED)

    first, failed, last = await outcomes(
        group, request(PROMPTS[0]), request(PROMPTS[1], sampling=faulty), request(PROMPTS[2])
    )

    assert failed[0].ids == greedy_reference(loaded, PROMPTS[1], 20)[:number]
    assert isinstance(failed[1], InjectedError)
    assert first == ((await solo(loaded, request(PROMPTS[0])), None))
    assert last == ((await solo(loaded, request(PROMPTS[2])), None))
    (again,) = await answers(group, request(PROMPTS[1]))
    assert again.ids == greedy_reference(loaded, PROMPTS[1], 20)


async def test_a_sampler_that_cannot_be_made_ends_its_own_row(loaded: LoadedModel) -> None:
    def create(settings: Sequence[SamplingSettings]) -> Chain:
        if any(each.seed == FAULTY_SEED for each in settings):
            raise InjectedError
        return Chain(settings)

    group = MlxExecutionGroup(loaded, StandingClock(), create_sampler=create)

    good, failed = await outcomes(
        group, request(PROMPTS[0]), request(PROMPTS[1], sampling=SamplingSettings(temperature=0.0, seed=FAULTY_SEED))
    )

    assert good[0].ids == greedy_reference(loaded, PROMPTS[0], 20)
    assert isinstance(failed[1], InjectedError)


async def test_a_failure_while_a_prompt_is_read_ends_that_row_alone(loaded: LoadedModel) -> None:
    poisoned = [1, 2, 77, 4, 5]

    def is_due(_call: int, inputs: mx.array) -> bool:
        return inputs.shape[1] > 1 and 77 in inputs.tolist()[0]  # type: ignore[operator, index]

    group = MlxExecutionGroup(with_faults(loaded, is_due), StandingClock())

    good, failed = await outcomes(group, request(PROMPTS[1]), request(poisoned))

    assert good[0].ids == greedy_reference(loaded, PROMPTS[1], 20)
    assert (failed[0].ids, type(failed[1])) == ([], InjectedError)


@pytest.mark.parametrize("call", range(1, 23, 2))
async def test_a_failure_at_any_call_of_the_model_leaves_only_right_tokens_and_a_working_group(
    loaded: LoadedModel, call: int, caplog: pytest.LogCaptureFixture
) -> None:
    # The first call only foretells the memory.
    group = MlxExecutionGroup(with_faults(loaded, lambda number, _: number == call + 1), StandingClock())

    ended = await outcomes(group, *(request(prompt) for prompt in PROMPTS))

    assert any(isinstance(failure, InjectedError) for _, failure in ended)
    for prompt, (answer, failure) in zip(PROMPTS, ended, strict=True):
        reference = greedy_reference(loaded, prompt, 20)
        assert answer.ids == (reference if failure is None else reference[: len(answer.ids)])
        assert failure is None or isinstance(failure, InjectedError)
    assert (group.queued, group.preparing_rows, group.active) == (0, 0, 0)
    assert all(record.message == STEP_FAILED for record in caplog.records)
    caplog.clear()
    (again,) = await answers(group, request(PROMPTS[0]))
    assert again.ids == greedy_reference(loaded, PROMPTS[0], 20)


async def test_a_failing_decode_step_spares_the_rows_in_preparation(
    loaded: LoadedModel, caplog: pytest.LogCaptureFixture
) -> None:
    fails = asyncio.Event()
    faulty = with_faults(loaded, lambda _call, inputs: fails.is_set() and inputs.shape == (1, 1))
    faulty.chunk_beside = ChunkSize(32)
    group = MlxExecutionGroup(faulty, StandingClock())
    decoding = asyncio.create_task(read(group.submit(request(PROMPTS[0], 400))))
    for _ in range(6):
        await run_turn(group)
    prompt = list(range(90)) * 4
    prepared = asyncio.create_task(read(group.submit(request(prompt, 20))))
    await run_turn(group)
    assert (group.active, group.preparing_rows) == (1, 1)

    fails.set()
    await run_turn(group)
    fails.clear()
    while not prepared.done():
        await run_turn(group)

    assert isinstance(decoding.exception(), InjectedError)
    assert (await prepared).ids == greedy_reference(loaded, prompt, 20)
    assert [record.message for record in caplog.records] == [STEP_FAILED]
    caplog.clear()


async def test_a_failing_step_takes_no_token_that_was_drawn_before_it(
    loaded: LoadedModel, caplog: pytest.LogCaptureFixture
) -> None:
    """The row with four tokens has left the batch when the model fails, its last token still on the device."""
    decode_calls: list[int] = []

    def is_due(_call: int, inputs: mx.array) -> bool:
        decode_calls.extend([1] if inputs.shape == (2, 1) else [])
        return len(decode_calls) >= 4 and inputs.shape == (1, 1)

    group = MlxExecutionGroup(with_faults(loaded, is_due), StandingClock())

    complete, failed = await outcomes(group, request(PROMPTS[0], 4), request(PROMPTS[2], 20))

    assert complete == (await solo(loaded, request(PROMPTS[0], 4)), None)
    assert failed[0].ids == greedy_reference(loaded, PROMPTS[2], 4)
    assert isinstance(failed[1], InjectedError)
    caplog.clear()


async def test_a_reader_that_fails_leaves_the_other_rows_alone(loaded: LoadedModel) -> None:
    group = MlxExecutionGroup(loaded, StandingClock())
    row = group.submit(request(PROMPTS[0], 200))
    other = asyncio.create_task(read(group.submit(request(PROMPTS[1]))))
    first = asyncio.create_task(row.next_step())
    while not first.done():
        await run_turn(group)

    row.close()
    while not other.done():
        await run_turn(group)

    assert (await other).ids == greedy_reference(loaded, PROMPTS[1], 20)
    assert group.active == 0


async def test_the_models_own_words_for_an_unknown_token_are_never_needed(loaded: LoadedModel) -> None:
    """Logits wider than the embedding must not let an id through that would crash the process."""

    class WideNetwork(FaultyNetwork):
        def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
            logits = super().__call__(inputs, cache)
            wide = mx.full((*logits.shape[:-1], 8), 1e9)
            return mx.concatenate([logits, wide], axis=-1)

    network: Any = WideNetwork(loaded.model, lambda *_: False)
    wide = LoadedModel(network, Path("wide"), CONFIGS["llama"], 0, SamplingSettings())

    answer = await solo(wide, request(PROMPTS[0]))

    assert answer.ids == greedy_reference(loaded, PROMPTS[0], 20)

"""The group under the real scheduler, with the clock of the loop."""

import asyncio
import gc
import random
from collections.abc import AsyncIterator

import mlx.core as mx
import pytest

from engine.backend.chunk_size import ChunkSize
from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.backend.prefix_store import PrefixStore
from engine.backend.row import Row, RowProgress, SampledToken
from engine.contracts import CaptureSettings, ProblemError, SamplingSettings, SessionCancelledError
from engine.execution.scheduler import drive
from engine.runtime.clock import AsyncioClock
from tests.engine.backend.driving import (
    Answer,
    ManualCancellation,
    StandingClock,
    greedy_reference,
    read,
    request,
    run_turn,
    solo,
    until,
)
from tests.engine.backend.tiny import VOCABULARY, tiny_model


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return tiny_model()


@pytest.fixture
async def group(loaded: LoadedModel) -> AsyncIterator[MlxExecutionGroup]:
    """A group that is driven until the test ends."""
    loaded.chunk_alone, loaded.chunk_beside = ChunkSize(64), ChunkSize(64)
    clock = AsyncioClock()
    made = MlxExecutionGroup(loaded, clock)
    driver = asyncio.create_task(drive(made, clock))
    yield made
    made.close()
    await driver


async def test_many_rows_join_and_leave_at_random_and_give_what_they_give_alone(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    rng = random.Random(7)
    requests = []
    for _ in range(16):
        prompt = [rng.randrange(VOCABULARY) for _ in range(rng.choice([3, 9, 40, 200, 900]))]
        sampling = rng.choice(
            [
                SamplingSettings(temperature=0.0, seed=0),
                SamplingSettings(temperature=1.0, seed=rng.randrange(1 << 32)),
                SamplingSettings(temperature=0.8, top_p=0.9, repetition_penalty=1.2, seed=rng.randrange(1 << 32)),
            ]
        )
        requests.append(request(prompt, rng.randrange(1, 60), sampling=sampling))
    readers: list[asyncio.Task[Answer]] = []
    for each in requests:
        readers.append(asyncio.create_task(read(group.submit(each))))
        for _ in range(rng.randrange(6)):
            await asyncio.sleep(0)

    together = await asyncio.gather(*readers)

    for each, answer in zip(requests, together, strict=True):
        assert answer.ids == (await solo(loaded, each)).ids


async def test_stop_while_a_long_prompt_is_read_keeps_the_work_for_the_next_time(group: MlxExecutionGroup) -> None:
    prompt = [index * 17 % VOCABULARY for index in range(3500)]
    cancellation = ManualCancellation()
    row = group.submit(request(prompt, cancellation=cancellation))
    while True:
        step = await row.next_step()
        if isinstance(step, RowProgress) and step.read > 0:
            break

    cancellation.cancel()
    with pytest.raises(SessionCancelledError):
        await read(row)

    assert (group.queued, group.preparing_rows, group.active) == (0, 0, 0)
    again = group.submit(request(prompt, 2))
    first = await again.next_step()
    assert isinstance(first, RowProgress)
    assert first.cached >= step.read
    assert len((await read(again)).ids) == 2


async def test_a_long_prompt_never_keeps_another_rows_tokens_for_more_than_one_chunk(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    events: list[str] = []

    async def follow(row: Row, name: str) -> None:
        while (step := await row.next_step()) is not None:
            events.append(name if isinstance(step, SampledToken) else "chunk")

    first = asyncio.create_task(follow(group.submit(request([1, 2, 3], 200)), "a"))
    await until(lambda: events.count("a") >= 5)
    second = asyncio.create_task(follow(group.submit(request([5] * 2000, 5)), "b"))
    await asyncio.gather(first, second)

    began, ended = events.index("chunk", events.index("a")), events.index("b")
    between = "".join("c" if event == "chunk" else event for event in events[began:ended])
    assert between.count("c") > 5
    assert "cc" not in between.replace("b", "")


async def test_the_first_step_is_the_same_alone_and_beside_a_longer_prompt(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    captures = CaptureSettings(top_k=VOCABULARY)
    short = request([4, 5, 6], 1, captures=captures)

    (alone,) = (await solo(loaded, short)).logprobs
    together, _ = await asyncio.gather(
        read(group.submit(short)), read(group.submit(request(list(range(12)), 1, captures=captures)))
    )

    assert alone is not None
    (beside,) = together.logprobs
    assert beside is not None
    one = {it.id: it.logprob for it in alone.top or ()}
    other = {it.id: it.logprob for it in beside.top or ()}
    assert len(one) == VOCABULARY
    assert other == pytest.approx(one, abs=1e-4)


async def test_a_penalty_leaves_the_models_own_column_alone(loaded: LoadedModel) -> None:
    captures = CaptureSettings(top_k=10, stages=True)
    prompt = [5, 9, 3, 5, 9, 3]
    plain, punished = [
        await solo(
            loaded,
            request(
                prompt, 1, captures=captures, sampling=SamplingSettings(temperature=0.0, repetition_penalty=it, seed=0)
            ),
        )
        for it in (1.0, 1.3)
    ]

    (one,), (other,) = plain.logprobs, punished.logprobs
    assert one is not None
    assert other is not None
    assert [(it.id, it.logprob) for it in one.top or ()] == [(it.id, it.logprob) for it in other.top or ()]
    assert [it.adjusted for it in one.top or ()] != [it.adjusted for it in other.top or ()]


@pytest.mark.parametrize("stages", [False, True])
async def test_nothing_of_vocabulary_size_outlives_its_step(stages: bool) -> None:
    vocabulary = 20_000
    loaded = tiny_model(vocab_size=vocabulary)
    group = MlxExecutionGroup(loaded, StandingClock())
    sampling = SamplingSettings(temperature=1.0, top_p=0.9, repetition_penalty=1.1, logit_bias={3: 1.0}, seed=1)
    captures = CaptureSettings(top_k=10, stages=stages, entropy=True, rank=True)
    reader = asyncio.create_task(read(group.submit(request([1, 2, 3], 200, sampling=sampling, captures=captures))))

    held = []
    for turn in range(150):
        await run_turn(group)
        if turn in (20, 140):
            gc.collect()
            held.append(mx.get_active_memory())

    assert held[1] - held[0] < vocabulary
    group.close()
    with pytest.raises(ProblemError):
        await reader


async def test_a_waiting_group_costs_nothing_and_wakes_for_a_rested_row(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    row = group.submit(request([7, 8, 9], 150))
    await until(lambda: row.room <= 1)

    answer = await read(row)

    assert answer.ids == greedy_reference(loaded, [7, 8, 9], 150)


async def test_a_held_group_finishes_what_runs_and_admits_nothing(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    running = asyncio.create_task(read(group.submit(request([1, 2], 40))))
    await until(lambda: group.active > 0)
    let_go = group.hold_admission()
    waiting = asyncio.create_task(read(group.submit(request([3, 4], 5))))

    assert (await running).ids == greedy_reference(loaded, [1, 2], 40)
    await until(lambda: group.active == 0)
    assert group.queued == 1
    let_go()

    assert (await waiting).ids == greedy_reference(loaded, [3, 4], 5)


async def test_a_closing_group_fails_the_jobs_that_wait(loaded: LoadedModel) -> None:
    group = MlxExecutionGroup(loaded, StandingClock())
    job = asyncio.create_task(group.run_exclusively(len))
    await asyncio.sleep(0)

    group.close()

    with pytest.raises(Exception, match="unloaded"):
        await job


async def test_jobs_run_between_units_in_their_order(group: MlxExecutionGroup) -> None:
    order: list[int] = []

    def job(_: PrefixStore) -> int:
        order.append(len(order))
        return order[-1]

    assert await asyncio.gather(*(group.run_exclusively(job) for _ in range(3))) == [0, 1, 2]

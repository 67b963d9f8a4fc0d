"""Every family of caches gives, in any company, what plain mlx-lm gives alone."""

import asyncio
from collections.abc import Iterator

import pytest

from engine.backend.chunk_size import ChunkSize
from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.contracts import CaptureSettings, SamplingSettings
from tests.engine.backend.driving import (
    Answer,
    ManualCancellation,
    StandingClock,
    answers,
    full_logprobs,
    greedy_reference,
    read,
    request,
    run_turn,
    run_until_idle,
    solo,
)
from tests.engine.backend.tiny import CONFIGS, VOCABULARY, tiny_model

PROMPTS = (
    [5, 9, 3],
    [index * 5 % VOCABULARY for index in range(1, 71)],
    [7, 7, 8, 60, 2, 1, 90, 33, 12, 11, 10],
    [4],
    [index * 11 % VOCABULARY for index in range(30)],
)


@pytest.fixture(scope="module", params=CONFIGS)
def loaded(request: pytest.FixtureRequest) -> Iterator[LoadedModel]:
    model = tiny_model(request.param)
    yield model
    model.unload()


@pytest.fixture
def group(loaded: LoadedModel) -> MlxExecutionGroup:
    return MlxExecutionGroup(loaded, StandingClock())


async def test_rows_together_give_what_each_gives_alone(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    references = [greedy_reference(loaded, prompt, 48) for prompt in PROMPTS]
    assert all(len(set(reference)) >= 10 for reference in references)

    together = await answers(group, *(request(prompt, 48) for prompt in PROMPTS))

    assert [answer.ids for answer in together] == references


async def test_a_row_joins_in_mid_decode_and_another_goes_on_after_it(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    first = asyncio.create_task(read(group.submit(request(PROMPTS[1], 60))))
    for _ in range(12):
        await run_turn(group)
    second = asyncio.create_task(read(group.submit(request(PROMPTS[2], 10))))
    for _ in range(5):
        await run_turn(group)
    third = asyncio.create_task(read(group.submit(request(PROMPTS[0], 45))))
    await run_until_idle(group)

    assert (await first).ids == greedy_reference(loaded, PROMPTS[1], 60)
    assert (await second).ids == greedy_reference(loaded, PROMPTS[2], 10)
    assert (await third).ids == greedy_reference(loaded, PROMPTS[0], 45)


async def test_a_cancelled_row_changes_nobodys_tokens(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    decoding, reading = ManualCancellation(), ManualCancellation()
    stopped = group.submit(request(PROMPTS[2], 200, cancellation=decoding))
    others = [asyncio.create_task(read(group.submit(request(prompt, 40)))) for prompt in PROMPTS[:2]]
    for _ in range(10):
        await run_turn(group)
    loaded.chunk_alone = loaded.chunk_beside = ChunkSize(64)
    late = group.submit(request([1] * 600, cancellation=reading))
    await run_turn(group)

    decoding.cancel()
    reading.cancel()
    group.prune_cancelled()

    assert stopped.has_ended
    assert late.has_ended
    assert (group.active, group.preparing_rows) == (2, 0)
    await run_until_idle(group)
    assert [(await other).ids for other in others] == [greedy_reference(loaded, prompt, 40) for prompt in PROMPTS[:2]]


async def test_the_next_turn_reuses_what_was_read_and_answers_the_same(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    (first,) = await answers(group, request(PROMPTS[4], 20))
    prompt = [*PROMPTS[4], *first.ids, 3, 1, 4, 1, 5]

    (second,) = await answers(group, request(prompt, 30))

    assert second.ids == greedy_reference(loaded, prompt, 30)
    assert second.progress[-1].cached >= len(PROMPTS[4]) + 19


async def test_the_same_message_again_reuses_its_prompt(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    (first,) = await answers(group, request(PROMPTS[1], 45))

    (again,) = await answers(group, request(PROMPTS[1], 45))

    assert again.ids == first.ids
    assert again.progress[-1].cached == len(PROMPTS[1]) - 1


async def test_a_stopped_prompt_is_read_on_where_it_was_left(loaded: LoadedModel) -> None:
    loaded.chunk_alone = loaded.chunk_beside = ChunkSize(64)
    group = MlxExecutionGroup(loaded, StandingClock())
    prompt = [index * 3 % VOCABULARY for index in range(300)]
    cancellation = ManualCancellation()
    group.submit(request(prompt, cancellation=cancellation))
    await run_turn(group)
    cancellation.cancel()
    group.prune_cancelled()

    (answer,) = await answers(group, request(prompt, 12))

    assert answer.progress[-1].cached == 64
    assert answer.ids == greedy_reference(loaded, prompt, 12)


async def test_penalties_and_seeds_come_and_go_without_a_trace(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    settings = [
        SamplingSettings(temperature=0.0, repetition_penalty=1.4, penalty_window=12, seed=0),
        SamplingSettings(temperature=1.0, seed=9, frequency_penalty=0.5, logit_bias={5: -4.0}),
        SamplingSettings(temperature=0.0, seed=0),
        SamplingSettings(temperature=0.8, seed=2, top_k=9),
    ]
    requests = [
        request(prompt, 12 + 9 * row, sampling=each)
        for row, (prompt, each) in enumerate(zip(PROMPTS[:4], settings, strict=True))
    ]

    together = await answers(group, *requests)

    assert [answer.ids for answer in together] == [(await solo(loaded, each)).ids for each in requests]


async def test_a_row_rests_and_goes_on_in_other_company(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    slow, seen = group.submit(request(PROMPTS[1], 120)), Answer()
    await run_until_idle(group)
    assert slow.room <= 1
    reader = asyncio.create_task(read(slow, seen))
    other = asyncio.create_task(read(group.submit(request(PROMPTS[4], 40))))

    while not (reader.done() and other.done()):
        await run_turn(group)

    assert seen.ids == greedy_reference(loaded, PROMPTS[1], 120)
    assert (await other).ids == greedy_reference(loaded, PROMPTS[4], 40)


async def test_captured_logprobs_equal_a_full_pass(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    captures, prompt = CaptureSettings(), PROMPTS[1]

    answer, _ = await answers(group, request(prompt, 30, captures=captures), request(PROMPTS[0], 40))

    table = full_logprobs(loaded, [*prompt, *answer.ids])
    expected = [table[len(prompt) - 1 + place, token].item() for place, token in enumerate(answer.ids)]
    assert [record.logprob for record in answer.logprobs if record is not None] == pytest.approx(expected, abs=1e-3)

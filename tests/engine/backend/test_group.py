"""Rows through the group: alone, together, ended and stopped."""

import asyncio
from typing import Any

import pytest

from engine.backend.group import GroupLimits, MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.contracts import CaptureSettings, FinishReason, ProblemError, SamplingSettings, SessionCancelledError
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
from tests.engine.backend.tiny import CONTEXT, VOCABULARY, tiny_model

PROMPTS = ([5, 9, 3], list(range(1, 41)), [7, 7, 8, 60, 2, 1, 90, 33, 12, 11, 10], [4])


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return tiny_model()


@pytest.fixture
def group(loaded: LoadedModel) -> MlxExecutionGroup:
    return MlxExecutionGroup(loaded, StandingClock())


async def test_a_greedy_row_gives_the_models_own_tokens(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    reference = greedy_reference(loaded, PROMPTS[0], 40)
    assert len(set(reference)) >= 10

    (answer,) = await answers(group, request(PROMPTS[0], 40))

    assert answer.ids == reference


async def test_rows_together_give_what_each_gives_alone(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    together = await answers(group, *(request(prompt, 30) for prompt in PROMPTS))

    assert [answer.ids for answer in together] == [greedy_reference(loaded, prompt, 30) for prompt in PROMPTS]


async def test_a_seeded_row_draws_the_same_alone_and_beside_others(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    settings = [
        SamplingSettings(temperature=1.2, seed=11),
        SamplingSettings(temperature=0.9, seed=12, top_p=0.8),
        SamplingSettings(temperature=1.0, seed=13, top_k=7, min_p=0.02),
        SamplingSettings(temperature=0.0, seed=14),
    ]
    requests = [request(prompt, 25, sampling=each) for prompt, each in zip(PROMPTS, settings, strict=True)]

    together = await answers(group, *requests)

    alone = [await solo(loaded, each) for each in requests]
    assert [answer.ids for answer in together] == [answer.ids for answer in alone]


async def test_another_seed_draws_another_answer(loaded: LoadedModel) -> None:
    one, other = [
        await solo(loaded, request([5, 9], 25, sampling=SamplingSettings(temperature=1.0, seed=seed)))
        for seed in (1, 2)
    ]

    assert one.ids != other.ids


async def test_a_row_that_joins_in_mid_decode_changes_nobodys_tokens(
    loaded: LoadedModel, group: MlxExecutionGroup
) -> None:
    first = asyncio.create_task(read(group.submit(request(PROMPTS[1], 30))))
    for _ in range(8):
        await run_turn(group)
    second = asyncio.create_task(read(group.submit(request(PROMPTS[2], 10))))
    await run_until_idle(group)

    assert (await first).ids == greedy_reference(loaded, PROMPTS[1], 30)
    assert (await second).ids == greedy_reference(loaded, PROMPTS[2], 10)


async def test_a_long_prompt_is_read_in_chunks_with_progress() -> None:
    loaded = tiny_model()
    prompt = [index * 7 % VOCABULARY for index in range(1500)]

    answer = await solo(loaded, request(prompt, 12))

    assert answer.ids == greedy_reference(loaded, prompt, 12)
    reads = [progress.read for progress in answer.progress]
    assert len(reads) >= 3
    assert reads == sorted(reads)
    assert reads[-1] == 1500


async def test_the_end_token_is_delivered_and_ends_the_row(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    reference = greedy_reference(loaded, PROMPTS[0], 12)
    end = reference[5]
    row = group.submit(request(PROMPTS[0], 12, end_ids=frozenset({end})))
    reader = asyncio.create_task(read(row))
    await run_until_idle(group)

    assert (await reader).ids == reference[: reference.index(end) + 1]
    assert row.finish_reason is FinishReason.END_OF_TURN


async def test_the_token_limit_ends_the_row(group: MlxExecutionGroup) -> None:
    row = group.submit(request([1, 2, 3], 5))
    reader = asyncio.create_task(read(row))
    await run_until_idle(group)

    assert len((await reader).ids) == 5
    assert row.finish_reason is FinishReason.MAX_TOKENS


async def test_a_full_context_ends_the_row() -> None:
    group = MlxExecutionGroup(tiny_model(max_position_embeddings=40), StandingClock())
    row = group.submit(request([1] * 34, 50))
    reader = asyncio.create_task(read(row))
    await run_until_idle(group)

    assert len((await reader).ids) == 6
    assert row.finish_reason is FinishReason.CONTEXT_FULL


async def test_a_row_without_room_for_tokens_ends_at_once(group: MlxExecutionGroup) -> None:
    row = group.submit(request([1, 2, 3], 0))
    reader = asyncio.create_task(read(row))
    await run_until_idle(group)

    assert (await reader).ids == []
    assert row.finish_reason is FinishReason.MAX_TOKENS


@pytest.mark.parametrize(
    ("prompt", "changes", "code"),
    [
        ([], {}, "prompt_empty"),
        ([1, VOCABULARY], {}, "token_outside_vocabulary"),
        ([1, -1], {}, "token_outside_vocabulary"),
        ([1], {"forced_prefix": (VOCABULARY,)}, "token_outside_vocabulary"),
        ([1] * CONTEXT, {}, "context_full"),
        ([1], {"sampling": SamplingSettings(top_p=0.0, seed=0)}, "sampling_invalid"),
        ([1], {"sampling": SamplingSettings(logit_bias={VOCABULARY: 1.0}, seed=0)}, "sampling_invalid"),
        ([1], {"captures": CaptureSettings(top_k=101)}, "captures_invalid"),
    ],
)
def test_a_request_the_model_cannot_serve_is_refused_before_anything_happens(
    group: MlxExecutionGroup, prompt: list[int], changes: dict[str, Any], code: str
) -> None:
    with pytest.raises(ProblemError) as refusal:
        group.submit(request(prompt, **changes))

    assert refusal.value.problem.code == code
    assert group.queued == 0


async def test_a_cancelled_row_leaves_before_the_next_unit(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    cancellation = ManualCancellation()
    stopped, seen = group.submit(request(PROMPTS[0], 500, cancellation=cancellation)), Answer()
    reader = asyncio.create_task(read(stopped, seen))
    other = asyncio.create_task(read(group.submit(request(PROMPTS[1], 20))))
    for _ in range(6):
        await run_turn(group)
    assert group.active == 2

    cancellation.cancel()
    group.prune_cancelled()

    assert group.active == 1
    with pytest.raises(SessionCancelledError):
        await reader
    await run_until_idle(group)
    assert seen.ids == greedy_reference(loaded, PROMPTS[0], 20)[: len(seen.ids)]
    assert (await other).ids == greedy_reference(loaded, PROMPTS[1], 20)


async def test_a_row_cancelled_while_its_prompt_is_read_leaves_before_the_next_chunk(
    group: MlxExecutionGroup,
) -> None:
    cancellation = ManualCancellation()
    row = group.submit(request([2] * 3000, cancellation=cancellation))
    await run_turn(group)
    assert group.preparing_rows == 1

    cancellation.cancel()
    group.prune_cancelled()

    assert (group.queued, group.preparing_rows, group.active) == (0, 0, 0)
    with pytest.raises(SessionCancelledError):
        await read(row)


async def test_a_closed_row_leaves_and_delivers_nothing_more(group: MlxExecutionGroup) -> None:
    row = group.submit(request([1, 2], 100))
    for _ in range(4):
        await run_turn(group)

    row.close()
    group.prune_cancelled()

    assert group.active == 0
    assert (await read(row)).ids == []


async def test_a_row_whose_reader_is_slow_rests_and_delays_nobody(loaded: LoadedModel) -> None:
    group = MlxExecutionGroup(loaded, StandingClock(), GroupLimits(outbox_tokens=6))
    slow = group.submit(request(PROMPTS[2], 40))
    quick = asyncio.create_task(read(group.submit(request(PROMPTS[1], 40))))

    await run_until_idle(group)

    assert (await quick).ids == greedy_reference(loaded, PROMPTS[1], 40)
    assert slow.room == 0
    late = asyncio.create_task(read(slow))
    while not late.done():
        await run_turn(group)
    assert (await late).ids == greedy_reference(loaded, PROMPTS[2], 40)


async def test_a_group_at_rest_waits_and_wakes_when_a_row_comes(group: MlxExecutionGroup) -> None:
    waiting = asyncio.create_task(group.wait_for_work())
    await asyncio.sleep(0)
    assert not waiting.done()

    group.submit(request([1], 1))

    await waiting


async def test_a_closed_group_ends_its_rows_and_refuses_new_ones(group: MlxExecutionGroup) -> None:
    row = group.submit(request([1, 2], 100))
    await run_turn(group)

    group.close()

    assert group.closed
    with pytest.raises(ProblemError):
        await read(row)
    with pytest.raises(ProblemError):
        group.submit(request([1]))


async def test_captured_logprobs_equal_a_full_pass(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    captures = CaptureSettings(top_k=5, rank=True, entropy=True)
    sampling = SamplingSettings(temperature=1.3, seed=4)
    prompt = PROMPTS[2]

    answer, _ = await answers(group, request(prompt, 15, sampling=sampling, captures=captures), request(PROMPTS[0], 20))

    table = full_logprobs(loaded, [*prompt, *answer.ids])
    for place, (token, record) in enumerate(zip(answer.ids, answer.logprobs, strict=True), start=len(prompt) - 1):
        row: list[float] = table[place].tolist()  # type: ignore[assignment]
        best = sorted(range(VOCABULARY), key=row.__getitem__, reverse=True)
        assert record is not None
        assert record.logprob == pytest.approx(row[token], abs=1e-4)
        assert record.rank == best.index(token)
        assert record.top is not None
        assert [candidate.id for candidate in record.top] == best[:5]
        assert [candidate.logprob for candidate in record.top] == pytest.approx([row[it] for it in best[:5]], abs=1e-4)

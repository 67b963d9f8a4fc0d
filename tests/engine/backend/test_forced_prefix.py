"""Answers that begin with given tokens, and given tokens that are only scored."""

import asyncio
import math

import mlx.core as mx
import pytest

from engine.backend.group import GroupLimits, MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.contracts import CaptureSettings, FinishReason, SamplingSettings
from tests.engine.backend.driving import (
    StandingClock,
    answers,
    full_logprobs,
    greedy_reference,
    read,
    request,
    run_turn,
    solo,
)
from tests.engine.backend.tiny import VOCABULARY, tiny_model

PROMPT = [5, 9, 3, 44, 20]
EVERYTHING = CaptureSettings(top_k=4, entropy=True, rank=True)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return tiny_model()


@pytest.fixture
def group(loaded: LoadedModel) -> MlxExecutionGroup:
    return MlxExecutionGroup(loaded, StandingClock())


async def test_an_answer_begins_with_exactly_the_forced_tokens(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    forced = (80, 81, 82, 1)

    (answer,) = await answers(group, request(PROMPT, 15, forced_prefix=forced))

    assert answer.ids == [*forced, *greedy_reference(loaded, [*PROMPT, *forced], 11)]


async def test_a_branch_forced_to_its_own_beginning_goes_on_as_it_did(loaded: LoadedModel) -> None:
    sampling = SamplingSettings(temperature=1.0, seed=77)
    whole = await solo(loaded, request(PROMPT, 30, sampling=sampling))

    branch = await solo(loaded, request(PROMPT, 30, sampling=sampling, forced_prefix=tuple(whole.ids[:12])))

    assert branch.ids == whole.ids


async def test_forced_tokens_are_measured_like_drawn_ones(loaded: LoadedModel) -> None:
    whole = await solo(loaded, request(PROMPT, 20, captures=EVERYTHING))

    forced = await solo(loaded, request(PROMPT, 20, captures=EVERYTHING, forced_prefix=tuple(whole.ids[:10])))

    for one, other in zip(whole.logprobs, forced.logprobs, strict=True):
        assert one is not None
        assert other is not None
        assert other.logprob == pytest.approx(one.logprob, abs=1e-4)
        assert other.rank == one.rank
        assert other.entropy == pytest.approx(one.entropy, abs=1e-4)
        assert [it.id for it in other.top or ()] == [it.id for it in one.top or ()]


async def test_an_end_token_that_is_forced_ends_nothing(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    (answer,) = await answers(group, request(PROMPT, 6, forced_prefix=(8, 9), end_ids=frozenset({8})))

    assert answer.ids[:2] == [8, 9]
    assert len(answer.ids) > 2


async def test_no_more_is_forced_than_may_be_answered(group: MlxExecutionGroup) -> None:
    (answer,) = await answers(group, request(PROMPT, 2, forced_prefix=(8, 9, 10)))

    assert answer.ids == [8, 9]


async def test_a_text_is_scored_without_generating_anything(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    text = [index * 31 % VOCABULARY for index in range(1000)]
    row = group.submit(request([], len(text), forced_prefix=tuple(text), captures=EVERYTHING))
    neighbour = asyncio.create_task(read(group.submit(request(PROMPT, 25))))
    reader = asyncio.create_task(read(row))
    while not (reader.done() and neighbour.done()):
        await run_turn(group)

    scored = await reader
    assert row.finish_reason is FinishReason.MAX_TOKENS
    assert scored.ids == text
    assert scored.logprobs[0] is None
    table = full_logprobs(loaded, text)
    expected = mx.take_along_axis(table[:-1], mx.array(text[1:])[:, None], axis=-1)[:, 0]
    found = [record.logprob or 0.0 for record in scored.logprobs if record is not None]
    assert len(found) == 999
    assert math.fsum(found) == pytest.approx(expected.sum().item(), rel=1e-5, abs=1e-3)
    assert all(record.rank is not None and record.entropy is not None for record in scored.logprobs if record)
    assert (await neighbour).ids == greedy_reference(loaded, PROMPT, 25)


async def test_a_text_is_scored_after_a_context(loaded: LoadedModel, group: MlxExecutionGroup) -> None:
    whole = await solo(loaded, request(PROMPT, 12, captures=EVERYTHING))

    (scored,) = await answers(
        group, request(PROMPT, len(whole.ids), forced_prefix=tuple(whole.ids), captures=EVERYTHING)
    )

    assert scored.ids == whole.ids
    assert [it.rank for it in scored.logprobs if it] == [it.rank for it in whole.logprobs if it]
    assert len([it for it in scored.logprobs if it]) == 12


async def test_a_scored_row_waits_for_a_slow_reader(loaded: LoadedModel) -> None:
    group = MlxExecutionGroup(loaded, StandingClock(), GroupLimits(outbox_tokens=8))
    text = tuple(range(90))
    row = group.submit(request([], len(text), forced_prefix=text))
    for _ in range(12):
        await run_turn(group)
    assert (row.room, group.preparing_rows) == (0, 0)

    reader = asyncio.create_task(read(row))
    while not reader.done():
        await run_turn(group)

    assert tuple((await reader).ids) == text

"""The engine in this process with the starter model: what it says equals an independent forward pass."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.utils import load

from engine.assembly import build_engine
from engine.catalog.starter import starter_installation
from engine.contracts import (
    CaptureSettings,
    Committed,
    Completed,
    Engine,
    Failed,
    GenerationRequest,
    LoadRequest,
    Message,
    Role,
    ScoreRequest,
    Session,
    TokenLogprobs,
)

pytestmark = pytest.mark.starter

PARAGRAPH = "The tide was out, and the harbour smelled of salt. "


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    engine = build_engine()
    async with engine.load(LoadRequest(str(starter_installation().folder))) as loading:
        assert [event async for event in loading]
    yield engine
    await engine.aclose()
    assert (await engine.status()).open_sessions == 0


async def scored(session: Session[Any]) -> tuple[list[int], list[TokenLogprobs | None]]:
    ids: list[int] = []
    measured: list[TokenLogprobs | None] = []
    async for event in session:
        if isinstance(event, Committed):
            assert event.logprobs is not None
            ids += event.token_ids
            measured += event.logprobs
    return ids, measured


async def test_scoring_a_pasted_text_equals_a_full_forward_pass(engine: Engine) -> None:
    folder = str(starter_installation().folder)
    request = ScoreRequest(
        model=folder,
        messages=(Message(Role.USER, PARAGRAPH * 90),),
        raw=True,
        captures=CaptureSettings(top_k=3, rank=True, entropy=True),
    )
    session = engine.score(request)
    ids, measured = await scored(session)

    assert isinstance(await session.outcome(), Completed)
    assert len(ids) > 1000
    assert measured[0] is None or measured[0].logprob is None
    model, _ = load(folder)
    logits = model(mx.array([ids]))[0, :-1].astype(mx.float32)
    logprobs = logits - mx.logsumexp(logits, axis=-1, keepdims=True)
    expected = mx.take_along_axis(logprobs, mx.array(ids[1:])[:, None], axis=-1)[:, 0]
    ranks = (logprobs > expected[:, None]).sum(axis=-1).tolist()
    entropies = -(mx.exp(logprobs) * logprobs).sum(axis=-1)
    rest = [each for each in measured[1:] if each is not None]
    assert len(rest) == len(ids) - 1
    assert [each.logprob for each in rest] == pytest.approx(expected.tolist(), abs=1e-3)
    assert sum(each.logprob or 0.0 for each in rest) == pytest.approx(expected.sum().item(), abs=1e-1)
    assert [each.entropy for each in rest] == pytest.approx(entropies.tolist(), abs=1e-3)
    close = [abs((each.rank or 0) - rank) <= max(1, rank // 100) for each, rank in zip(rest, ranks, strict=True)]
    assert all(close)


async def test_without_sampling_settings_the_makers_recommendation_holds(tmp_path: Path) -> None:
    folder = tmp_path / "greedy"
    folder.mkdir()
    for file in starter_installation().folder.iterdir():
        if file.name != "generation_config.json":
            (folder / file.name).symlink_to(file)
    (folder / "generation_config.json").write_text('{"do_sample": false}')
    engine = build_engine()
    async with engine.load(LoadRequest(str(folder))) as loading:
        assert [event async for event in loading]
        loaded = await loading.outcome()
    question = (Message(Role.USER, "Tell me a story."),)
    answers = [
        (await scored(engine.generate(GenerationRequest(model=str(folder), messages=question, max_tokens=6))))[0]
        for _ in range(2)
    ]
    await engine.aclose()

    assert isinstance(loaded, Completed)
    assert loaded.result.sampling_defaults.temperature == 0.0
    assert answers[0] == answers[1]


async def test_scoring_nothing_says_so(engine: Engine) -> None:
    session = engine.score(ScoreRequest(model=str(starter_installation().folder), raw=True))
    await scored(session)
    outcome = await session.outcome()

    assert isinstance(outcome, Failed)
    assert outcome.error.problem is not None
    assert outcome.error.problem.code == "prompt_empty"


async def test_scoring_what_is_longer_than_the_context_says_by_how_much(engine: Engine) -> None:
    request = ScoreRequest(model=str(starter_installation().folder), token_ids=(5,) * 9000)
    session = engine.score(request)
    await scored(session)
    outcome = await session.outcome()

    assert isinstance(outcome, Failed)
    assert outcome.error.problem is not None
    assert outcome.error.problem.code == "context_full"
    assert "9,000" in outcome.error.problem.sentence


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (GenerationRequest(model="", messages=()), "model_missing"),
        (GenerationRequest(model="/models/a\0b", messages=()), "model_missing"),
        (GenerationRequest(model="/nowhere", messages=()), "tokenizer_missing"),
        (GenerationRequest(model="/nowhere", messages=(), max_tokens=-3), "limit_invalid"),
    ],
)
async def test_a_request_that_makes_no_sense_gets_a_sentence(request_: GenerationRequest, code: str) -> None:
    engine = build_engine()
    session = engine.generate(request_)
    assert [event async for event in session] == []
    outcome = await session.outcome()
    await engine.aclose()

    assert isinstance(outcome, Failed)
    assert outcome.error.problem is not None
    assert outcome.error.problem.code == code

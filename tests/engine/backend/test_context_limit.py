"""A conversation that does not fit is refused with the figures, or loses its oldest turns, and says which."""

import json
from collections.abc import AsyncIterator

import pytest

from engine.assembly import build_engine
from engine.catalog.starter import starter_installation
from engine.contracts import (
    Completed,
    Engine,
    Failed,
    FinishReason,
    GenerationRequest,
    GenerationResult,
    LoadRequest,
    Message,
    Outcome,
    Overflow,
    ProblemError,
    Role,
    SamplingSettings,
)

pytestmark = pytest.mark.starter

CONTEXT = 512
SYSTEM = Message(Role.SYSTEM, "Answer in one word.")


@pytest.fixture(scope="module")
def short_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The starter model, made to believe that it can read 512 tokens."""
    folder = tmp_path_factory.mktemp("models") / "short"
    folder.mkdir()
    installed = starter_installation().folder
    for file in installed.iterdir():
        (folder / file.name).symlink_to(file)
    config = json.loads((installed / "config.json").read_text())
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": CONTEXT}))
    return str(folder)


@pytest.fixture
async def engine(short_model: str) -> AsyncIterator[Engine]:
    engine = build_engine()
    async with engine.load(LoadRequest(short_model)) as loading:
        assert [event async for event in loading]
    yield engine
    await engine.aclose()


def words(role: Role, count: int) -> Message:
    return Message(role, "word " * count)


def request(
    model: str, *messages: Message, overflow: Overflow = Overflow.REFUSE, max_tokens: int | None = None
) -> GenerationRequest:
    greedy = SamplingSettings(temperature=0.0)
    return GenerationRequest(model=model, messages=messages, sampling=greedy, overflow=overflow, max_tokens=max_tokens)


async def ended(engine: Engine, asked: GenerationRequest) -> Outcome[GenerationResult]:
    async with engine.generate(asked) as session:
        async for _ in session:
            pass
        return await session.outcome()


async def test_a_history_with_no_room_for_the_new_message_is_measured_then_shortened(
    engine: Engine, short_model: str
) -> None:
    history = (SYSTEM, words(Role.USER, 230), words(Role.ASSISTANT, 230), words(Role.USER, 100))
    asked = request(short_model, *history, overflow=Overflow.KEEP_LAST_TURNS, max_tokens=2)

    fit = await engine.fit_prompt(asked)
    outcome = await ended(engine, asked)

    assert fit.full_tokens > CONTEXT
    assert fit.excess == fit.full_tokens - CONTEXT
    assert fit.left_out == (1, 2)
    assert fit.prompt_tokens < CONTEXT
    assert isinstance(outcome, Completed)
    assert outcome.result.left_out == (1, 2)
    assert outcome.result.prompt_tokens == fit.prompt_tokens


async def test_without_leave_to_shorten_it_is_refused_with_the_figures(engine: Engine, short_model: str) -> None:
    outcome = await ended(engine, request(short_model, words(Role.USER, 300), SYSTEM, words(Role.USER, 300)))

    assert isinstance(outcome, Failed)
    assert outcome.error.problem is not None
    assert outcome.error.problem.code == "context_full"
    assert str(CONTEXT) in outcome.error.problem.sentence


async def test_a_first_message_that_is_too_long_is_never_cut(engine: Engine, short_model: str) -> None:
    asked = request(short_model, SYSTEM, words(Role.USER, 2000), overflow=Overflow.KEEP_LAST_TURNS)

    with pytest.raises(ProblemError) as caught:
        await engine.fit_prompt(asked)
    outcome = await ended(engine, asked)

    assert caught.value.problem.code == "context_full"
    assert isinstance(outcome, Failed)
    assert outcome.error.problem == caught.value.problem


async def test_an_answer_that_reaches_the_end_of_the_context_says_so(engine: Engine, short_model: str) -> None:
    outcome = await ended(engine, request(short_model, Message(Role.USER, "Count. " + "one two three " * 150)))

    assert isinstance(outcome, Completed)
    assert outcome.result.finish_reason is FinishReason.CONTEXT_FULL
    assert outcome.result.prompt_tokens + outcome.result.generated_tokens >= CONTEXT

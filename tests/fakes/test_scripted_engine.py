"""The scripted engine keeps its promises to the tests that use it."""

import asyncio

from engine.contracts import Cancelled, Committed, Completed, Engine, GenerationRequest, LoadRequest, SessionState
from tests.fakes.scripted_engine import ScriptedEngine
from tests.fakes.scripted_tokens import token

REQUEST = GenerationRequest(model="/models/starter", messages=())


async def read(engine: Engine, heard: list[str]) -> None:
    """What a presenter does."""
    async with engine.generate(REQUEST) as session:
        async for event in session:
            assert isinstance(event, Committed)
            heard.extend(piece.text for piece in event.pieces or ())


async def test_words_have_reached_the_reader_when_says_returns() -> None:
    engine, heard = ScriptedEngine(), list[str]()
    reader = asyncio.create_task(read(engine, heard))

    await engine.session.says("Once upon")
    assert heard == ["Once", " upon"]
    await engine.session.says(token(" a", probability=0.5, top={" a": 0.5, " the": 0.25}))
    assert heard == ["Once", " upon", " a"]

    await engine.session.ends()
    await reader
    outcome = await engine.sessions[0].outcome()
    assert isinstance(outcome, Completed)
    assert outcome.committed_tokens == 3


async def test_the_session_to_come_replaces_one_that_has_ended() -> None:
    engine, heard = ScriptedEngine(), list[str]()
    for word in ("one", "two"):
        reader = asyncio.create_task(read(engine, heard))
        await engine.session.says(word)
        await engine.session.ends()
        await reader
    assert heard == ["one", "two"]


async def test_a_cancelled_session_ends_and_tells_the_reason() -> None:
    engine = ScriptedEngine()
    session = engine.generate(REQUEST)
    reader = asyncio.ensure_future(anext(aiter(session), None))
    await engine.session.started()
    await session.cancel("requested")
    assert await reader is None
    assert await session.outcome() == Cancelled("requested", 0)
    assert session.reasons == ["requested"]


async def test_loads_complete_by_themselves_unless_the_test_drives_them() -> None:
    session = ScriptedEngine().load(LoadRequest("/models/starter"))
    assert session.state is SessionState.CREATED
    assert [event async for event in session] == []
    assert isinstance(await session.outcome(), Completed)

"""The client, against an engine that may do anything."""

import asyncio

import pytest

from engine.contracts import (
    REQUESTED,
    Cancelled,
    Completed,
    Failed,
    Problem,
    ProblemError,
)
from engine.host.messages import (
    WIRE_VERSION,
    Cancel,
    Ended,
    Event,
    Grant,
    Hello,
    ListModels,
    Models,
    Open,
)
from engine.host.remote_session import WINDOW_EVENTS
from tests.engine.contract.run_engine import MODEL, result
from tests.engine.host.played import REQUEST, SEGFAULT, playing, word
from tests.engine.host.raw import RawEngine


async def test_what_is_asked_before_the_handshake_waits_for_it() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        session = client.generate(REQUEST)
        read = asyncio.ensure_future(anext(aiter(session)))
        models = asyncio.ensure_future(client.list_models(["/a"]))
        assert isinstance(await engine.receive(), Hello)
        await engine.send(Hello(WIRE_VERSION, 4242))
        assert await engine.receive() == Open(1, REQUEST, WINDOW_EVENTS)
        assert await engine.receive() == ListModels(1, ("/a",))
        await engine.send(Event(1, word(0)))
        await engine.send(Models(1, (MODEL,)))
        assert await read == word(0)
        assert await models == (MODEL,)
        assert client.engine_pid == 4242


async def test_room_is_granted_as_events_are_read() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        session = client.generate(REQUEST)
        reader = aiter(session)
        first = asyncio.ensure_future(anext(reader))
        await engine.greet()
        await engine.receive()
        for sequence in range(WINDOW_EVENTS):
            await engine.send(Event(1, word(sequence)))
        await first
        for _ in range(WINDOW_EVENTS // 2 - 1):
            await anext(reader)
        assert await engine.receive() == Grant(1, WINDOW_EVENTS // 2)


async def test_a_dead_engine_fails_open_sessions_and_keeps_what_was_said() -> None:
    engine, told = RawEngine(), list[Problem]()
    async with playing(engine) as client:
        client.on_exit(told.append)
        session = client.generate(REQUEST)
        reader = aiter(session)
        first = asyncio.ensure_future(anext(reader))
        await engine.greet()
        await engine.receive()
        await engine.send(Event(1, word(0)))
        await engine.send(Event(1, word(1)))
        await first
        engine.die(SEGFAULT)
        outcome = await session.outcome()
        assert isinstance(outcome, Failed)
        assert outcome.committed_tokens == 2
        assert outcome.error.problem == Problem(
            code="engine_stopped",
            sentence="The engine crashed (SIGSEGV).",
            remedy="Everything written so far is kept; send the message again.",
        )
        assert [event async for event in reader] == [word(1)]
        assert told == [outcome.error.problem]


@pytest.mark.parametrize(
    ("exit_code", "sentence"),
    [
        (-9, "The engine was killed by the system, perhaps because memory ran out."),
        (-6, "The engine crashed (SIGABRT)."),
        (-64, "The engine crashed (SIGRTMAX)."),
        (-77, "The engine crashed (signal 77)."),
        (3, "The engine stopped (exit code 3)."),
    ],
)
async def test_the_problem_says_how_the_engine_ended(exit_code: int, sentence: str) -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        call = asyncio.ensure_future(client.list_models())
        await engine.greet()
        await engine.receive()
        engine.die(exit_code)
        with pytest.raises(ProblemError) as caught:
            await call
    assert (caught.value.problem.code, caught.value.problem.sentence) == ("engine_stopped", sentence)


async def test_a_cancellation_on_this_side_beats_what_crossed_it_on_the_way() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        session = client.generate(REQUEST)
        reader = aiter(session)
        first = asyncio.ensure_future(anext(reader))
        await engine.greet()
        await engine.receive()
        await engine.send(Event(1, word(0)))
        await first
        stop = asyncio.ensure_future(session.cancel())
        assert await engine.receive() == Cancel(1, REQUESTED)
        await engine.send(Event(1, word(1)))
        await engine.send(Ended(1, Completed(result(2), 2)))
        await stop
        assert await session.outcome() == Cancelled(REQUESTED, committed_tokens=2)
        assert [event async for event in reader] == []


async def test_a_session_cancelled_while_its_engine_dies_is_cancelled() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        session = client.generate(REQUEST)
        read = asyncio.ensure_future(anext(aiter(session), None))
        await engine.greet()
        await engine.receive()
        stop = asyncio.ensure_future(session.cancel())
        await engine.receive()
        engine.die(SEGFAULT)
        await stop
        assert await session.outcome() == Cancelled(REQUESTED, committed_tokens=0)
        assert await read is None

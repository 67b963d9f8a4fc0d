"""The client, against an engine that cannot start, sends nonsense, or is replaced."""

import asyncio

import pytest

from engine.contracts import (
    ENGINE_CLOSED,
    REQUESTED,
    Cancelled,
    EngineStatus,
    Failed,
    GenerationRequest,
    Message,
    Problem,
    ProblemError,
    Role,
)
from engine.host.client import EngineClient
from engine.host.connection import EngineConnection
from engine.host.framing import encode_frame
from engine.host.messages import (
    WIRE_VERSION,
    Cancel,
    Ended,
    Event,
    GetStatus,
    Hello,
    ListModels,
    Models,
    Shutdown,
    encode,
)
from tests.engine.contract.run_engine import MODEL, RunEngine
from tests.engine.host.loopback import Loopback
from tests.engine.host.played import REQUEST, SEGFAULT, playing, word
from tests.engine.host.raw import RawEngine


async def test_an_engine_that_dies_before_the_handshake_cannot_start_and_its_last_words_say_why() -> None:
    engine = RawEngine()
    engine.words = "ModuleNotFoundError: No module named 'mlx'"
    async with playing(engine) as client:
        session = client.generate(REQUEST)
        read = asyncio.ensure_future(anext(aiter(session), None))
        await engine.receive()
        engine.die(1)
        assert await read is None
        outcome = await session.outcome()
        assert isinstance(outcome, Failed)
        assert outcome.error.problem is not None
        assert outcome.error.problem.code == "engine_cannot_start"
        assert "No module named 'mlx'" in outcome.error.problem.sentence


async def test_an_engine_that_cannot_be_launched_is_a_problem_not_an_exception() -> None:
    told: list[Problem] = []

    def launch() -> RawEngine:
        raise FileNotFoundError(2, "No such file", "python")

    client = EngineClient(launch)
    client.on_exit(told.append)
    client.start()
    with pytest.raises(ProblemError):
        await client.wait_started()
    with pytest.raises(ProblemError) as caught:
        await client.list_models()
    assert caught.value.problem.code == "engine_cannot_start"
    assert told[0].code == "engine_cannot_start"
    await client.aclose()


async def test_an_engine_that_does_not_answer_in_time_is_ended() -> None:
    engine = RawEngine()
    problem = await EngineConnection(engine.launch, handshake_seconds=0.05).live()
    assert engine.poll() == -9
    assert problem is not None
    assert (problem.code, problem.sentence) == (
        "engine_cannot_start",
        "The engine cannot start: it did not answer within 0.05 seconds.",
    )


async def test_an_engine_of_another_version_is_ended_and_named() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        started = asyncio.ensure_future(client.wait_started())
        await engine.send(Hello(WIRE_VERSION + 1, 4242))
        with pytest.raises(ProblemError) as caught:
            await started
        assert engine.poll() == -9
    assert caught.value.problem.code == "engine_cannot_start"
    assert f"version {WIRE_VERSION + 1}" in caught.value.problem.sentence


@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", encode_frame(b"\xc1"), encode_frame(encode(Shutdown()))])
async def test_an_engine_that_sends_garbage_is_ended(garbage: bytes) -> None:
    engine, told = RawEngine(), asyncio.get_running_loop().create_future()
    async with playing(engine) as client:
        client.on_exit(told.set_result)
        client.start()
        await engine.greet()
        await engine.send_bytes(garbage)
        problem = await told
        assert engine.poll() == -9
    assert problem.code == "engine_stopped"
    assert "unreadable" in problem.sentence


async def test_a_request_that_cannot_be_sent_fails_alone() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        client.start()
        await engine.greet()
        session = client.generate(GenerationRequest(model="tiny", messages=(Message(Role.USER, "\ud83d"),)))
        assert [event async for event in session] == []
        outcome = await session.outcome()
        assert isinstance(outcome, Failed)
        assert outcome.error.problem is not None
        assert outcome.error.problem.code == "request_refused"
        with pytest.raises(ProblemError):
            await client.list_models(["/\udcff"])
        status = asyncio.ensure_future(client.status())
        assert isinstance(await engine.receive(), GetStatus)
        status.cancel()


async def test_answers_to_callers_that_have_left_are_ignored() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        call = asyncio.ensure_future(client.list_models())
        await engine.greet()
        await engine.receive()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await engine.send(Models(1, (MODEL,)))
        await engine.send(Event(1, word(0)))
        await engine.send(Ended(1, Cancelled(REQUESTED, 0)))
        again = asyncio.ensure_future(client.list_models())
        assert await engine.receive() == ListModels(2, ())
        await engine.send(Models(2, (MODEL,)))
        assert await again == (MODEL,)


async def test_a_listener_that_was_taken_back_hears_nothing() -> None:
    engine, told = RawEngine(), list[Problem]()
    async with playing(engine) as client:
        unsubscribe = client.on_exit(told.append)
        unsubscribe()
        unsubscribe()
        call = asyncio.ensure_future(client.list_models())
        await engine.greet()
        engine.die(SEGFAULT)
        with pytest.raises(ProblemError):
            await call
    assert told == []


async def test_after_a_death_the_next_session_launches_a_new_engine() -> None:
    loopback = Loopback(RunEngine)
    client = EngineClient(loopback)
    died = asyncio.get_running_loop().create_future()
    unsubscribe = client.on_exit(died.set_result)
    await client.wait_started()
    loopback.launched[0].server.leave()
    await died
    unsubscribe()
    assert await client.status() == EngineStatus()
    session = client.generate(GenerationRequest(model="tiny", messages=(), max_tokens=3))
    assert len([event async for event in session]) == 3
    assert len(loopback.launched) == 2
    await client.aclose()


async def test_restarting_replaces_a_running_engine() -> None:
    loopback = Loopback(RunEngine)
    client = EngineClient(loopback)
    session = client.generate(GenerationRequest(model="endless", messages=()))
    reader = aiter(session)
    await anext(reader)
    await client.restart()
    await client.wait_started()
    outcome = await session.outcome()
    assert isinstance(outcome, Cancelled)
    assert outcome.reason == ENGINE_CLOSED
    assert loopback.launched[0].task.done()
    assert len(loopback.launched) == 2
    await client.aclose()


async def test_a_session_read_during_a_restart_gets_the_new_engine() -> None:
    loopback = Loopback(RunEngine)
    client = EngineClient(loopback)
    await client.wait_started()
    restart = asyncio.ensure_future(client.restart())
    await asyncio.sleep(0)
    session = client.generate(GenerationRequest(model="tiny", messages=(), max_tokens=3))
    assert len([event async for event in session]) == 3
    async with asyncio.timeout(5):
        await restart
    assert len(loopback.launched) == 2
    await client.aclose()


async def test_closing_asks_the_engine_and_kills_one_that_does_not_go() -> None:
    engine, told = RawEngine(), list[Problem]()
    client = EngineClient(engine.launch)
    client.on_exit(told.append)
    session = client.generate(REQUEST)
    read = asyncio.ensure_future(anext(aiter(session), None))
    await engine.greet()
    await engine.receive()
    started = asyncio.get_running_loop().time()
    closing = asyncio.ensure_future(client.aclose())
    assert isinstance(await engine.receive(), Shutdown)
    assert engine.poll() is None
    await asyncio.gather(closing, client.aclose())
    assert engine.poll() == -9
    assert asyncio.get_running_loop().time() - started < 2
    assert await session.outcome() == Cancelled(ENGINE_CLOSED, committed_tokens=0)
    assert await read is None
    assert told == []


async def test_a_closed_client_opens_nothing_and_launches_nothing() -> None:
    loopback = Loopback(RunEngine)
    client = EngineClient(loopback)
    await client.aclose()
    client.start()
    session = client.generate(REQUEST)
    assert [event async for event in session] == []
    assert await session.outcome() == Cancelled(ENGINE_CLOSED, committed_tokens=0)
    with pytest.raises(ProblemError):
        await client.list_models()
    assert loopback.launched == []


async def test_closed_before_its_engine_is_launched_it_launches_none() -> None:
    loopback = Loopback(RunEngine)
    client = EngineClient(loopback)
    client.start()
    await client.aclose()
    assert loopback.launched == []


async def test_closing_an_engine_that_has_not_answered_yet_kills_it() -> None:
    engine = RawEngine()
    client = EngineClient(engine.launch)
    starting = asyncio.ensure_future(client.wait_started())
    await engine.receive()
    await client.aclose()
    with pytest.raises(ProblemError):
        await starting
    assert (engine.exit_code, client.engine_pid) == (-9, None)


async def test_a_reader_left_alone_is_noticed_when_it_is_collected() -> None:
    engine = RawEngine()
    async with playing(engine) as client:
        session = client.generate(REQUEST)
        reader = aiter(session)
        first = asyncio.ensure_future(anext(reader))
        await engine.greet()
        await engine.receive()
        await engine.send(Event(1, word(0)))
        await first
        del reader, first
        assert await engine.receive() == Cancel(1, "consumer_closed")

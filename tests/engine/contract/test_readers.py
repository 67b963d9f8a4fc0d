"""What every engine promises to readers, in this process or over the wire."""

import asyncio
import gc

import pytest

from engine.contracts import (
    CONSUMER_CLOSED,
    ENGINE_CLOSED,
    REQUESTED,
    Cancelled,
    Committed,
    Completed,
    EngineStatus,
    Problem,
    ProblemError,
    PromptFit,
    SessionEvent,
    SessionState,
)
from tests.engine.contract.asking import ENDLESS, SILENT, answer, ask, read_all, until
from tests.engine.contract.conftest import Bench
from tests.engine.contract.run_engine import MODEL, QUEUED_EVENTS


async def test_leaving_the_iterator_early_closes_the_session(bench: Bench) -> None:
    session = bench.engine.generate(ENDLESS)
    reader = aiter(session)
    await anext(reader)
    await reader.aclose()
    assert bench.inner.reasons == [CONSUMER_CLOSED]
    assert await anext(reader, None) is None


async def test_leaving_the_context_closes_the_session(bench: Bench) -> None:
    async with bench.engine.generate(ENDLESS) as session:
        reader = aiter(session)
        await anext(reader)
    assert session.state is SessionState.TERMINAL
    assert bench.inner.reasons == [CONSUMER_CLOSED]


async def test_breaking_out_of_the_loop_closes_the_session(bench: Bench) -> None:
    session = bench.engine.generate(ENDLESS)
    async for _ in session:
        break
    gc.collect()
    outcome = await session.outcome()
    assert isinstance(outcome, Cancelled)
    assert outcome.reason == CONSUMER_CLOSED


async def test_a_second_reader_is_refused(bench: Bench) -> None:
    session = bench.engine.generate(ask(2))
    assert len(await read_all(session)) == 2
    with pytest.raises(RuntimeError):
        aiter(session)


async def test_a_second_read_at_once_is_refused_and_disturbs_nobody(bench: Bench) -> None:
    session = bench.engine.generate(ask(1))
    reader = aiter(session)
    first = asyncio.ensure_future(anext(reader))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError):
        await anext(reader)
    assert isinstance(await first, Committed)
    assert isinstance(await session.outcome(), Completed)


async def test_a_reader_cancelled_while_it_waits_loses_no_event(bench: Bench) -> None:
    request = ask(200)
    session = bench.engine.generate(request)
    reader = aiter(session)
    heard: list[SessionEvent] = []
    for turns in range(10_000):
        read = asyncio.ensure_future(anext(reader, None))
        for _ in range(turns % 3):
            await asyncio.sleep(0)
        if not read.done():
            read.cancel()
        [event] = await asyncio.gather(read, return_exceptions=True)
        if event is None:
            break
        if not isinstance(event, BaseException):
            heard.append(event)
    assert heard == answer(request)


async def test_a_waiter_that_is_cancelled_disturbs_no_other(bench: Bench) -> None:
    session = bench.engine.generate(ask(1))
    hasty, patient = asyncio.ensure_future(session.outcome()), asyncio.ensure_future(session.outcome())
    await asyncio.sleep(0)
    hasty.cancel()
    await read_all(session)
    assert isinstance(await patient, Completed)


async def test_a_caller_cancelled_while_it_cancels_has_cancelled_all_the_same(bench: Bench) -> None:
    session = bench.engine.generate(SILENT)
    reader = asyncio.ensure_future(anext(aiter(session), None))
    await until(lambda: bench.inner.prepared != [])
    stop = asyncio.ensure_future(session.cancel())
    await asyncio.sleep(0)
    stop.cancel()
    assert await session.outcome() == Cancelled(REQUESTED, committed_tokens=0)
    assert await reader is None


async def test_a_reader_that_stops_reading_stops_the_work(bench: Bench) -> None:
    session = bench.engine.generate(ENDLESS)
    reader = aiter(session)
    await anext(reader)
    committed = -1
    while committed != bench.inner.committed:
        committed = bench.inner.committed
        for _ in range(100):
            await asyncio.sleep(0)
    on_the_way = 64
    assert committed <= 1 + on_the_way + QUEUED_EVENTS + 1
    for _ in range(committed):
        await anext(reader)
    assert bench.inner.committed > committed
    await session.close()


async def test_eight_sessions_at_once_stay_apart(bench: Bench) -> None:
    requests = [ask(150 + 7 * number, f"tab {number} ") for number in range(8)]
    sessions = [bench.engine.generate(request) for request in requests]
    answers = await asyncio.gather(*(read_all(session) for session in sessions))
    assert answers == [answer(request) for request in requests]


async def test_one_slow_reader_delays_no_other(bench: Bench) -> None:
    slow = bench.engine.generate(ENDLESS)
    reader = aiter(slow)
    await anext(reader)
    assert len(await read_all(bench.engine.generate(ask(1000)))) == 1000
    await slow.close()


async def test_a_message_of_one_megabyte_arrives_whole(bench: Bench) -> None:
    request = ask(1, "é" * 500_000)
    session = bench.engine.generate(request)
    assert await read_all(session) == answer(request)
    assert bench.inner.prepared == [request]


async def test_calls_are_answered_while_sessions_run(bench: Bench) -> None:
    session = bench.engine.generate(ENDLESS)
    reader = aiter(session)
    await anext(reader)
    assert await bench.engine.list_models(["/a", "/b"]) == (MODEL,)
    assert bench.inner.folders == [("/a", "/b")]
    assert await bench.engine.status() == EngineStatus(open_sessions=1, resident_models=(MODEL.id,), device_bytes=2**40)
    await session.close()


async def test_a_conversation_is_measured_before_it_is_sent(bench: Bench) -> None:
    fit = await bench.engine.fit_prompt(ask(1, "a long conversation"))

    assert fit == PromptFit(prompt_tokens=12, full_tokens=20, limit=16, left_out=(1,))
    assert (fit.room, fit.excess) == (4, 4)


async def test_a_call_that_fails_raises_its_problem(bench: Bench) -> None:
    bench.inner.problem = Problem(code="disk_gone", sentence="The disk is gone.", remedy="Plug it in.")
    with pytest.raises(ProblemError) as caught:
        await bench.engine.list_models()
    assert caught.value.problem == bench.inner.problem


async def test_closing_the_engine_cancels_every_session(bench: Bench) -> None:
    sessions = [bench.engine.generate(ENDLESS), bench.engine.generate(SILENT)]
    readers = [aiter(session) for session in sessions]
    waiting = asyncio.ensure_future(anext(readers[1], None))
    await anext(readers[0])
    await until(lambda: len(bench.inner.prepared) == 2)
    await bench.engine.aclose()
    outcomes = [await session.outcome() for session in sessions]
    assert [getattr(each, "reason", each) for each in outcomes] == [ENGINE_CLOSED, ENGINE_CLOSED]
    assert await waiting is None
    assert bench.inner.closed

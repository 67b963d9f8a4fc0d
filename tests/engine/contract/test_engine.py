"""What every engine promises, in this process or over the wire."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from engine.contracts import (
    CLEANUP_FAILED,
    CONSUMER_CLOSED,
    ENGINE_CLOSED,
    EXECUTION_FAILED,
    REQUESTED,
    Cancelled,
    Committed,
    Completed,
    EngineStatus,
    Failed,
    GenerationRequest,
    InstallRequest,
    LoadRequest,
    LoadResult,
    Message,
    Problem,
    ProblemError,
    Progress,
    Role,
    ScoreRequest,
    ScoreResult,
    Session,
    SessionEvent,
    SessionState,
)
from tests.engine.contract.conftest import Bench
from tests.engine.contract.run_engine import FULL, MISSING, MODEL, QUEUED_EVENTS, measured, piece, result

ENDLESS = GenerationRequest(model="endless", messages=())
SILENT = GenerationRequest(model="silent", messages=())


def ask(tokens: int, content: str = "", model: str = "tiny") -> GenerationRequest:
    return GenerationRequest(model=model, messages=(Message(Role.USER, content),), max_tokens=tokens)


def answer(request: GenerationRequest) -> list[SessionEvent]:
    """Every event of the answer to `request`."""
    return [
        Committed(number, (number,), (measured(number),), (piece(request, number),))
        for number in range(request.max_tokens or 0)
    ]


async def read_all(session: Session[Any]) -> list[SessionEvent]:
    return [event async for event in session]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is looked at is no event: the engine's own counters
            await asyncio.sleep(0)


async def test_an_answer_arrives_complete_and_exact(bench: Bench) -> None:
    request = ask(500, "日本 🙂 ")
    session = bench.engine.generate(request)
    assert await read_all(session) == answer(request)
    assert await session.outcome() == Completed(result(500), committed_tokens=500)
    assert session.state is SessionState.TERMINAL


async def test_a_scoring_gives_back_the_tokens_asked_about(bench: Bench) -> None:
    session = bench.engine.score(ScoreRequest(model="/models/tiny", token_ids=(5, 7)))

    assert await read_all(session) == [Committed(0, (5, 7), (measured(5), measured(7)))]
    assert await session.outcome() == Completed(ScoreResult(tokens=2, seconds=0.5), 2)


async def test_a_load_tells_its_progress_and_its_result(bench: Bench) -> None:
    session = bench.engine.load(LoadRequest("/models/tiny"))
    assert await read_all(session) == [Progress(read, 3, "load") for read in (1, 2, 3)]
    expected = LoadResult(
        model="/models/tiny", context_length=512, vocabulary_size=99, weight_bytes=3, load_seconds=0.5
    )
    assert await session.outcome() == Completed(expected, committed_tokens=0)


async def test_a_problem_of_the_work_is_in_the_outcome_alone(bench: Bench) -> None:
    session = bench.engine.install_starter(InstallRequest())
    assert await read_all(session) == [Progress(1, None, "download")]
    outcome = await session.outcome()
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.problem) == (EXECUTION_FAILED, FULL)


async def test_a_problem_of_the_preparation_is_in_the_outcome_alone(bench: Bench) -> None:
    session = bench.engine.generate(ask(3, model="missing"))
    assert await read_all(session) == []
    outcome = await session.outcome()
    assert isinstance(outcome, Failed)
    assert outcome.error.problem == MISSING


async def test_what_was_said_before_a_failure_stays_readable(bench: Bench) -> None:
    request = ask(5, model="fails")
    session = bench.engine.generate(request)
    reader = aiter(session)
    assert await anext(reader) == answer(request)[0]
    outcome = await session.outcome()
    assert isinstance(outcome, Failed)
    assert outcome.committed_tokens == 5
    assert [event async for event in reader] == answer(request)[1:]


async def test_the_outcome_does_not_wait_for_a_reader_that_lags(bench: Bench) -> None:
    request = ask(QUEUED_EVENTS)
    session = bench.engine.generate(request)
    reader = aiter(session)
    first = await anext(reader)
    assert await session.outcome() == Completed(result(QUEUED_EVENTS), committed_tokens=QUEUED_EVENTS)
    assert [first, *[event async for event in reader]] == answer(request)


async def test_nothing_starts_before_the_first_event_is_asked_for(bench: Bench) -> None:
    await bench.engine.list_models()
    session = bench.engine.generate(ask(1))
    reader = aiter(session)
    waiter = asyncio.ensure_future(session.outcome())
    await bench.engine.status()
    assert bench.inner.prepared == []
    assert session.state is SessionState.CREATED
    await anext(reader)
    assert bench.inner.prepared == [ask(1)]
    assert isinstance(await waiter, Completed)


async def test_cancelled_before_it_starts_it_never_starts(bench: Bench) -> None:
    session = bench.engine.generate(ask(1))
    await session.cancel()
    assert await session.outcome() == Cancelled(REQUESTED, committed_tokens=0)
    assert await read_all(session) == []
    assert bench.inner.prepared == []


async def test_cancelling_reaches_the_work_and_returns_at_its_end(bench: Bench) -> None:
    session = bench.engine.generate(ENDLESS)
    reader = aiter(session)
    await anext(reader)
    await session.cancel("because")
    assert bench.inner.reasons == ["because"]
    assert bench.inner.closed_runs == 1
    assert session.state is SessionState.TERMINAL
    outcome = await session.outcome()
    assert isinstance(outcome, Cancelled)
    assert outcome.reason == "because"
    assert outcome.committed_tokens == bench.inner.committed


async def test_nothing_is_delivered_after_a_cancellation(bench: Bench) -> None:
    session = bench.engine.generate(ENDLESS)
    reader = aiter(session)
    await anext(reader)
    await until(lambda: bench.inner.committed > QUEUED_EVENTS)
    await session.cancel()
    assert [event async for event in reader] == []


async def test_the_first_reason_wins_and_every_caller_waits_for_the_end(bench: Bench) -> None:
    session = bench.engine.generate(SILENT)
    reader = asyncio.ensure_future(anext(aiter(session), None))
    await until(lambda: bench.inner.prepared != [])
    await asyncio.gather(session.cancel("first"), session.cancel("second"), session.close())
    assert await session.outcome() == Cancelled("first", committed_tokens=0)
    assert await reader is None


async def test_cancelling_a_session_that_has_ended_changes_nothing(bench: Bench) -> None:
    session = bench.engine.generate(ask(3))
    reader = aiter(session)
    await anext(reader)
    outcome = await session.outcome()
    await session.cancel()
    assert await session.outcome() == outcome
    assert len([event async for event in reader]) == 2


async def test_a_clean_up_that_fails_beats_a_cancellation(bench: Bench) -> None:
    session = bench.engine.generate(ask(10**6, model="dirty"))
    reader = aiter(session)
    await anext(reader)
    await session.cancel()
    outcome = await session.outcome()
    assert isinstance(outcome, Failed)
    assert (outcome.error.code, outcome.error.cleanup_error) == (CLEANUP_FAILED, "could not clean up")


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

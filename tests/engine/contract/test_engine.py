"""What every engine promises, in this process or over the wire."""

import asyncio

from engine.contracts import (
    CLEANUP_FAILED,
    EXECUTION_FAILED,
    REQUESTED,
    Cancelled,
    Committed,
    Completed,
    Failed,
    InstallRequest,
    LoadRequest,
    LoadResult,
    Progress,
    ScoreRequest,
    ScoreResult,
    SessionState,
)
from tests.engine.contract.asking import ENDLESS, SILENT, answer, ask, read_all, until
from tests.engine.contract.conftest import Bench
from tests.engine.contract.run_engine import FULL, MISSING, QUEUED_EVENTS, measured, result


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

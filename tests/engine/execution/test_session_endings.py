"""How a session ends when ending itself goes wrong."""

import asyncio
from typing import Any

import pytest

from engine.contracts import (
    CLEANUP_FAILED,
    EXECUTION_FAILED,
    Cancelled,
    Completed,
    Failed,
    Failure,
    Output,
    Problem,
    ProblemError,
    SessionState,
)
from engine.execution.cancellation import CancellationSource
from engine.execution.modes import Callback, Collect
from engine.execution.session import GenerationSession, SessionLimits
from tests.engine.execution.fakes import FakeMethod, Lent, ManualClock, Unhandled, committing, settle, tokens_of

FULL = Problem(code="context_full", sentence="The conversation is too long.")


async def failing() -> None:
    raise ValueError("broke")


async def test_l1_a_failing_release_of_the_reservation_settles_as_a_failed_clean_up() -> None:
    lent = Lent(4, ValueError("release broke"))
    session = GenerationSession(FakeMethod(limit=4).prepare, clock=ManualClock(), mode=Collect(lambda _: lent))

    outcome = await session.outcome()

    assert isinstance(outcome, Failed)
    assert outcome.error == Failure(CLEANUP_FAILED, "release broke", "release broke")
    assert lent.releases == 1
    await session.cancel()


async def test_l1_every_clean_up_error_is_told_and_the_first_failure_leads() -> None:
    async def execute(_output: Output) -> None:
        raise ValueError("method broke")

    lent = Lent(4, ValueError("release broke"))
    method = FakeMethod(execute, limit=4, close=failing)

    outcome = await GenerationSession(method.prepare, clock=ManualClock(), mode=Collect(lambda _: lent)).outcome()

    assert isinstance(outcome, Failed)
    assert outcome.error == Failure(CLEANUP_FAILED, "method broke", "broke; release broke")


async def test_l1_a_failing_timer_stop_is_reported_and_the_session_still_settles() -> None:
    unhandled, clock = Unhandled(), ManualClock()
    limits = SessionLimits(idle_timeout_ms=1000)
    session = GenerationSession(FakeMethod().prepare, clock=clock, limits=limits)
    clock.stop_error = ValueError("stop broke")

    await session.cancel("requested")

    assert await session.outcome() == Cancelled("requested", 0)
    assert [str(error) for error in unhandled.errors] == ["stop broke"]
    assert unhandled.messages == ["cancelling a session"]


async def test_l1_a_failing_unsubscribe_inside_the_constructor_is_reported() -> None:
    class Unwilling(CancellationSource):
        def subscribe(self, listener: Any) -> Any:
            super().subscribe(listener)
            return refuse

    def refuse() -> None:
        raise ValueError("unsubscribe broke")

    unhandled, external = Unhandled(), Unwilling()
    external.cancel("gone")

    session = GenerationSession(FakeMethod().prepare, clock=ManualClock(), external=external)

    assert await session.outcome() == Cancelled("gone", 0)
    assert [str(error) for error in unhandled.errors] == ["unsubscribe broke"]
    assert unhandled.messages == ["a session could not unsubscribe"]


async def test_l3_a_failing_terminal_hook_is_reported_by_every_way_of_ending() -> None:
    def hook(_session: object) -> None:
        raise ValueError("hook broke")

    unhandled, external = Unhandled(), CancellationSource()
    external.cancel("gone")
    fired = GenerationSession(FakeMethod().prepare, clock=ManualClock(), external=external, on_terminal=hook)
    unstarted = GenerationSession(FakeMethod().prepare, clock=ManualClock(), on_terminal=hook)
    await unstarted.cancel()
    run = GenerationSession(FakeMethod().prepare, clock=ManualClock(), on_terminal=hook)
    await tokens_of(run)

    assert [session.state for session in (fired, unstarted, run)] == [SessionState.TERMINAL] * 3
    assert [str(error) for error in unhandled.errors] == ["hook broke"] * 3
    assert unhandled.messages == ["ending a session"] * 3


async def test_l7_an_empty_reason_cancels_a_session_that_runs() -> None:
    gate = asyncio.Event()

    async def execute(output: Output) -> None:
        await output.commit([1])
        await gate.wait()
        await output.commit([2])

    session = GenerationSession(FakeMethod(execute).prepare, clock=ManualClock())
    reader = session.__aiter__()
    await anext(reader)
    cancelling = asyncio.create_task(session.cancel(""))
    await settle()
    gate.set()
    await cancelling

    assert await session.outcome() == Cancelled("", 1)


async def test_l10_a_cancellation_from_within_a_cancellation_changes_no_reason() -> None:
    again: list[asyncio.Task[None]] = []

    async def listen() -> None:
        assert method.cancellation is not None
        method.cancellation.subscribe(lambda _: again.append(asyncio.create_task(session.cancel("inner"))))

    method = FakeMethod(lambda output: committing(output, 1), prepare=listen)
    session = GenerationSession(method.prepare, clock=ManualClock())
    reader = session.__aiter__()
    await anext(reader)
    await session.cancel("outer")
    await again[0]

    assert await session.outcome() == Cancelled("outer", 1)


@pytest.mark.parametrize("stage", ["cancelled", "limit", "reservation", "create_run"])
async def test_l11_a_plan_that_became_no_run_is_released(stage: str) -> None:
    gate = asyncio.Event()

    async def wait() -> None:
        await gate.wait()

    def reserve(_tokens: int) -> Lent:
        raise ValueError("no memory")

    method = FakeMethod(
        limit=-1 if stage == "limit" else 1,
        prepare=wait if stage == "cancelled" else settle,
        create_run=failing if stage == "create_run" else settle,
    )
    mode = Collect(reserve) if stage == "reservation" else Callback(lambda _: None)
    session = GenerationSession(method.prepare, clock=ManualClock(), mode=mode)
    if stage == "cancelled":
        cancelling = asyncio.create_task(session.cancel())
        await settle()
        gate.set()
        await cancelling

    outcome = await session.outcome()

    assert isinstance(outcome, Cancelled if stage == "cancelled" else Failed)
    assert method.calls[-1] == "release"
    assert method.calls.count("release") == 1
    assert "close" not in method.calls


async def test_l11_a_run_is_closed_and_its_plan_not_released() -> None:
    method = FakeMethod(lambda output: committing(output, 1))

    await tokens_of(GenerationSession(method.prepare, clock=ManualClock()))

    assert method.calls == ["prepare", "create_run", "execute", "close"]


async def test_l11_a_failing_release_of_a_plan_is_a_failed_clean_up() -> None:
    method = FakeMethod(create_run=failing, release=failing)

    outcome = await GenerationSession(method.prepare, clock=ManualClock(), mode=Callback(lambda _: None)).outcome()

    assert isinstance(outcome, Failed)
    assert outcome.error == Failure(CLEANUP_FAILED, "broke", "broke")


async def test_l14_an_owner_that_looks_at_the_state_keeps_no_session_that_has_ended() -> None:
    register: set[object] = set()
    external = CancellationSource()
    external.cancel("gone")

    session = GenerationSession(
        FakeMethod().prepare, clock=ManualClock(), external=external, on_terminal=register.discard
    )
    if session.state is not SessionState.TERMINAL:
        register.add(session)

    assert register == set()


async def test_a_problem_stays_in_the_outcome() -> None:
    async def prepare() -> None:
        raise ProblemError(FULL)

    outcome = await _outcome_of(FakeMethod(prepare=prepare))

    assert outcome == Failed(Failure(EXECUTION_FAILED, FULL.sentence, problem=FULL), 0)


async def test_a_problem_found_while_cleaning_up_stays_in_the_outcome() -> None:
    async def close() -> None:
        raise ProblemError(FULL)

    outcome = await _outcome_of(FakeMethod(close=close))

    assert outcome == Failed(Failure(CLEANUP_FAILED, FULL.sentence, FULL.sentence, FULL), 0)


async def test_an_error_without_words_goes_by_its_name() -> None:
    async def prepare() -> None:
        raise KeyError

    outcome = await _outcome_of(FakeMethod(prepare=prepare))

    assert outcome == Failed(Failure(EXECUTION_FAILED, "KeyError"), 0)


@pytest.mark.parametrize("error", [ValueError("no model"), asyncio.CancelledError("no model")])
async def test_a_prepare_that_raises_directly_fails_the_session(error: BaseException) -> None:
    def prepare(_cancellation: object) -> Any:
        raise error

    session = GenerationSession(prepare, clock=ManualClock(), mode=Callback(lambda _: None))

    assert await session.outcome() == Failed(Failure(EXECUTION_FAILED, "no model"), 0)


async def test_every_setting_has_a_default() -> None:
    session = GenerationSession(FakeMethod(lambda output: committing(output, *range(100))).prepare, clock=ManualClock())

    assert await tokens_of(session) == list(range(100))
    assert await session.outcome() == Completed(None, 100)


async def _outcome_of(method: FakeMethod) -> Any:
    return await GenerationSession(method.prepare, clock=ManualClock(), mode=Callback(lambda _: None)).outcome()

"""Sessions whose tasks, or whose waiters' tasks, are cancelled."""

import asyncio
import gc
from typing import Any

import pytest

from engine.contracts import CLEANUP_FAILED, EXECUTION_FAILED, Cancelled, Completed, Failed, Failure, Output
from engine.execution.modes import Callback, Collect
from engine.execution.session import GenerationSession
from tests.engine.execution.fakes import FakeMethod, Lent, ManualClock, committing, settle


def opened(method: FakeMethod) -> tuple[GenerationSession[Any], asyncio.Task[Any]]:
    """A session that runs, with the task that runs it."""
    before = asyncio.all_tasks()
    session = GenerationSession(method.prepare, clock=ManualClock(), mode=Callback(lambda _: None))
    (task,) = asyncio.all_tasks() - before
    return session, task


async def test_p1_a_waiter_that_is_cancelled_disturbs_nobody() -> None:
    gate = asyncio.Event()

    async def prepare() -> None:
        await gate.wait()

    session, _ = opened(FakeMethod(prepare=prepare))
    impatient = [asyncio.create_task(session.outcome()), asyncio.create_task(session.cancel())]
    patient = asyncio.create_task(session.outcome())
    await settle()
    for task in impatient:
        task.cancel()
    await asyncio.wait(impatient)
    gate.set()

    assert await patient == Cancelled("requested", 0)
    assert all(task.cancelled() for task in impatient)


@pytest.mark.parametrize("stage", ["prepare", "create_run", "execute"])
async def test_p3_a_cancelled_task_closes_and_settles_as_ever(stage: str) -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    async def execute(output: Output) -> None:
        await output.commit([1])
        await wait()

    stages: Any = {} if stage == "execute" else {stage: wait}
    method = FakeMethod(execute, **stages)
    session, task = opened(method)
    await settle()
    task.cancel()

    assert await session.outcome() == Cancelled("engine_closed", 1 if stage == "execute" else 0)
    assert method.calls[-1] == {"prepare": "prepare", "create_run": "release", "execute": "close"}[stage]


async def test_p3_a_method_that_swallows_the_cancellation_of_its_task_is_cancelled_all_the_same() -> None:
    async def execute(output: Output) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "swallowed"
        raise AssertionError

    session, task = opened(FakeMethod(execute))
    await settle()
    task.cancel()

    assert await session.outcome() == Cancelled("engine_closed", 0)


async def test_p3_a_method_may_cancel_its_own_task_and_return_at_once() -> None:
    async def execute(_output: Output) -> None:
        task.cancel()

    async def close() -> None:
        await settle()
        closed.append(True)

    closed: list[bool] = []
    session, task = opened(FakeMethod(execute, close=close))

    assert await session.outcome() == Cancelled("engine_closed", 0)
    assert closed == [True]


async def test_p3_closing_goes_on_when_its_task_is_cancelled_again_and_again() -> None:
    gate, lent = asyncio.Event(), Lent(1)

    async def close() -> None:
        await gate.wait()

    method = FakeMethod(close=close, limit=1)
    before = asyncio.all_tasks()
    session = GenerationSession(method.prepare, clock=ManualClock(), mode=Collect(lambda _: lent))
    (task,) = asyncio.all_tasks() - before
    for _ in range(3):
        await settle()
        task.cancel()
    await settle()
    assert session.state == "settling"
    assert task.cancelling() == 0

    gate.set()
    outcome = await session.outcome()
    assert isinstance(outcome, Cancelled)
    assert outcome.reason == "engine_closed"
    assert lent.releases == 1


async def test_p3_a_method_that_raises_a_cancellation_of_its_own_has_failed() -> None:
    async def execute(_output: Output) -> None:
        raise asyncio.CancelledError

    session, _ = opened(FakeMethod(execute))

    assert await session.outcome() == Failed(Failure(EXECUTION_FAILED, "CancelledError"), 0)


async def test_p3_a_close_that_is_cancelled_itself_is_a_failed_clean_up() -> None:
    async def close() -> None:
        raise asyncio.CancelledError

    session, _ = opened(FakeMethod(close=close))

    assert await session.outcome() == Failed(Failure(CLEANUP_FAILED, "CancelledError", "CancelledError"), 0)


async def test_p3_shutting_down_the_loop_ends_every_session() -> None:
    async def main() -> GenerationSession[Any]:
        session, _ = opened(FakeMethod(lambda _: asyncio.Event().wait()))
        await settle()
        return session

    def run() -> Any:
        return asyncio.run(main())

    session = await asyncio.to_thread(run)

    assert session.state == "terminal"


def test_p3_a_method_that_ends_the_process_still_lets_its_session_settle() -> None:
    async def execute(_output: Output) -> None:
        raise SystemExit(3)

    async def main() -> None:
        sessions.append(opened(FakeMethod(execute))[0])
        await settle()

    sessions: list[GenerationSession[Any]] = []
    with pytest.raises(SystemExit):
        asyncio.run(main())

    assert sessions[0]._settled.result() == Cancelled("engine_closed", 0)


async def test_p5_a_session_cancelled_before_its_first_turn_settles() -> None:
    method = FakeMethod()
    session, task = opened(method)
    task.cancel()

    assert await session.outcome() == Cancelled("engine_closed", 0)
    assert method.calls == []


async def test_p5_a_preparation_that_is_no_coroutine_may_be_cancelled_before_its_first_turn() -> None:
    preparation: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    before = asyncio.all_tasks()
    session = GenerationSession[Any](lambda _: preparation, clock=ManualClock(), mode=Callback(lambda _: None))
    (task,) = asyncio.all_tasks() - before
    task.cancel()

    assert await session.outcome() == Cancelled("engine_closed", 0)


async def test_p5_a_session_that_nobody_holds_runs_to_its_end() -> None:
    gate, tokens = asyncio.Event(), list[int]()

    async def execute(output: Output) -> None:
        await gate.wait()
        await committing(output, 1, 2)

    GenerationSession(
        FakeMethod(execute).prepare,
        clock=ManualClock(),
        mode=Callback(lambda batch: tokens.extend(batch.token_ids)),
    )
    await settle()
    gc.collect()
    gate.set()
    await settle()

    assert tokens == [1, 2]


async def test_any_number_of_waiters_get_the_outcome_again_and_again() -> None:
    session, _ = opened(FakeMethod())

    assert list(await asyncio.gather(session.outcome(), session.outcome())) == [Completed(None, 0)] * 2
    assert await session.outcome() == Completed(None, 0)

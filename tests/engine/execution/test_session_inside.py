"""Work inside a session that waits for the session's end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine.contracts import Cancelled, Completed, Output
from engine.execution.inside import entered, is_inside
from engine.execution.modes import Callback
from engine.execution.refusals import Refusal, RefusedError
from engine.execution.session import GenerationSession
from tests.engine.execution.fakes import FakeMethod, ManualClock, committing, settle

Ways = dict[str, Callable[[GenerationSession[Any]], Awaitable[None]]]


async def in_a_task(session: GenerationSession[Any]) -> None:
    await asyncio.create_task(session.cancel())


async def with_a_deadline(session: GenerationSession[Any]) -> None:
    await asyncio.wait_for(session.cancel(), timeout=60)


async def in_a_group(session: GenerationSession[Any]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(session.cancel())


WAYS: Ways = {
    "cancel": lambda session: session.cancel(),
    "close": lambda session: session.close(),
    "in_a_task": in_a_task,
    "with_a_deadline": with_a_deadline,
    "in_a_group": in_a_group,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("stage", ["prepare", "create_run", "execute", "callback", "close"])
async def test_l2_awaiting_the_end_from_inside_does_not_lock(stage: str, way: str) -> None:
    sessions: list[GenerationSession[Any]] = []

    async def wait_for_the_end() -> None:
        await settle()
        await WAYS[way](sessions[0])

    async def execute(output: Output) -> None:
        if stage == "execute":
            await wait_for_the_end()
        await output.commit([1])

    async def on_tokens(_batch: object) -> None:
        await wait_for_the_end()

    stages: Any = {stage: wait_for_the_end} if stage in ("prepare", "create_run", "close") else {}
    method = FakeMethod(execute, **stages)
    mode = Callback(on_tokens if stage == "callback" else lambda _: None)
    sessions.append(GenerationSession(method.prepare, clock=ManualClock(), mode=mode))

    outcome = await sessions[0].outcome()

    reason = "consumer_closed" if way == "close" else "requested"
    assert outcome == Cancelled(reason, 1 if stage in ("callback", "close") else 0)


async def test_l2_prepare_may_leave_the_iterator_and_wait_for_it() -> None:
    async def prepare() -> None:
        await settle()
        await reader.aclose()

    session = GenerationSession(FakeMethod(prepare=prepare).prepare, clock=ManualClock())
    reader = session.__aiter__()

    with pytest.raises(StopAsyncIteration):
        await anext(reader)
    assert await session.outcome() == Cancelled("consumer_closed", 0)


async def test_l2_work_inside_is_refused_its_own_outcome() -> None:
    refusals: list[Refusal] = []

    async def prepare() -> None:
        await settle()
        try:
            await session.outcome()
        except RefusedError as error:
            refusals.append(error.refusal)

    session = GenerationSession(FakeMethod(prepare=prepare).prepare, clock=ManualClock(), mode=Callback(lambda _: None))

    assert await session.outcome() == Completed(None, 0)
    assert refusals == [Refusal.OWN_OUTCOME]


async def test_a_task_begun_inside_may_read_the_outcome_once_there_is_one() -> None:
    ended = asyncio.Event()
    outcomes: list[object] = []

    async def afterwards() -> None:
        await ended.wait()
        outcomes.append(await session.outcome())

    async def prepare() -> None:
        tasks.append(asyncio.create_task(afterwards()))

    tasks: list[asyncio.Task[None]] = []
    session = GenerationSession(FakeMethod(prepare=prepare).prepare, clock=ManualClock(), mode=Callback(lambda _: None))
    await session.outcome()
    ended.set()
    await tasks[0]

    assert outcomes == [Completed(None, 0)]


async def test_one_session_may_wait_for_the_end_of_another() -> None:
    inner = GenerationSession(FakeMethod().prepare, clock=ManualClock())

    async def execute(output: Output) -> None:
        await inner.close()
        await committing(output, 1)

    outer = GenerationSession(FakeMethod(execute).prepare, clock=ManualClock(), mode=Callback(lambda _: None))

    assert await outer.outcome() == Completed(None, 1)
    assert await inner.outcome() == Cancelled("consumer_closed", 0)


async def test_outside_a_cancellation_waits_for_the_end() -> None:
    gate = asyncio.Event()

    async def close() -> None:
        await gate.wait()

    session = GenerationSession(FakeMethod(close=close).prepare, clock=ManualClock(), mode=Callback(lambda _: None))
    await settle()
    cancelling = asyncio.create_task(session.cancel())
    await settle()
    assert not cancelling.done()

    gate.set()
    await cancelling
    assert await session.outcome() == Cancelled("requested", 0)


def test_a_context_is_inside_of_every_owner_it_was_entered_for() -> None:
    outer, inner = object(), object()

    def look() -> tuple[bool, bool]:
        return is_inside(outer), is_inside(inner)

    assert look() == (False, False)
    assert entered(outer).run(look) == (True, False)
    assert entered(outer).run(lambda: entered(inner).run(look)) == (True, True)

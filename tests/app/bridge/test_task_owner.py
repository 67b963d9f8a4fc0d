"""Who starts a task owns it."""

import asyncio

import pytest

from app.bridge.task_owner import TaskOwner


@pytest.fixture
def errors() -> list[BaseException]:
    return []


async def forever(started: asyncio.Event) -> None:
    started.set()
    await asyncio.Event().wait()


async def test_closing_ends_every_task_and_may_be_repeated(errors: list[BaseException]) -> None:
    owner, started = TaskOwner(errors.append), asyncio.Event()
    task = owner.start(forever(started), "forever")
    await started.wait()

    await owner.aclose()
    await owner.aclose()

    assert task.cancelled()
    assert owner.running == 0
    assert errors == []


async def test_an_unexpected_error_is_reported_once_and_harms_no_other_task(errors: list[BaseException]) -> None:
    async def fails() -> None:
        raise ValueError("unexpected")

    owner, started = TaskOwner(errors.append), asyncio.Event()
    other = owner.start(forever(started), "other")
    failing = owner.start(fails(), "failing")
    await asyncio.wait({failing})
    await started.wait()

    assert [str(error) for error in errors] == ["unexpected"]
    assert not other.done()
    await owner.aclose()
    assert len(errors) == 1


async def test_closing_waits_for_what_a_task_still_saves(errors: list[BaseException]) -> None:
    saved = []

    async def saves(started: asyncio.Event) -> None:
        try:
            await forever(started)
        finally:
            await asyncio.sleep(0)
            saved.append("text")

    owner, started = TaskOwner(errors.append), asyncio.Event()
    owner.start(saves(started), "saves")
    await started.wait()

    await owner.aclose()

    assert saved == ["text"]


async def test_a_task_started_while_its_owner_closes_ends_as_well(errors: list[BaseException]) -> None:
    owner, started = TaskOwner(errors.append), asyncio.Event()

    async def starts_another() -> None:
        try:
            await forever(started)
        finally:
            owner.start(forever(asyncio.Event()), "late")

    owner.start(starts_another(), "first")
    await started.wait()

    await owner.aclose()

    assert owner.running == 0


async def test_a_task_may_close_its_owner(errors: list[BaseException]) -> None:
    owner = TaskOwner(errors.append)

    await owner.start(owner.aclose(), "quit")

    assert owner.running == 0
    assert errors == []

"""The policy loop where a scenario cannot look: the loop it runs on, its own cancellation, groups that misbehave."""

import asyncio

import pytest

from engine.execution.refusals import Refusal, RefusedError
from engine.execution.scheduler import MAX_IDLE_BURSTS, drive
from engine.runtime.clock import AsyncioClock
from tests.engine.execution.fake_group import FakeGroup
from tests.engine.execution.fakes import ManualClock, settle


async def test_every_row_is_decoded_to_its_end() -> None:
    group = FakeGroup(3, 5, 2, max_active=2)
    group.on["wait_for_work"] = group.close

    await drive(group, AsyncioClock())

    assert group.calls.count("admit_next") == 3
    assert group.held == 0
    assert [type(error) for error in group.failed] == [RefusedError]
    assert str(group.failed[0]) == str(RefusedError(Refusal.SCHEDULER_CLOSED))


@pytest.mark.parametrize("early", [True, False])
async def test_the_first_row_alone_is_seen_before_it_is_decoded_where_that_is_asked_for(early: bool) -> None:
    group = FakeGroup()
    group.preparing = True

    def prepared() -> None:
        group.preparing = False
        group.rows = [5]

    group.on = {"advance_preparation": prepared, "advance": group.close}

    await drive(group, ManualClock(), yield_after_preparation=early)

    # A turn begins with a prune: the early yield ends the turn that prepared, before anything is decoded.
    assert group.calls[: group.calls.index("advance")].count("prune_cancelled") == (2 if early else 1)


async def test_l17_active_rows_go_on_while_admissions_do_not_take() -> None:
    group = FakeGroup(1, max_active=3)
    group.rows = [4]
    group.takes = False
    group.on["advance"] = lambda: group.close() if group.calls.count("advance") == 4 else None

    await drive(group, ManualClock())

    assert group.calls.count("advance") == 4
    # So many turns of the burst in which nothing moves, then the turn that advances.
    first = group.calls.index("advance")
    assert group.calls[:first].count("prune_cancelled") == MAX_IDLE_BURSTS + 1
    assert group.calls[:first].count("can_burst") == MAX_IDLE_BURSTS


async def test_l17_every_yield_lets_a_burst_begin_anew() -> None:
    group = FakeGroup(1, 1, max_active=1)
    group.takes = False

    def prepare_at_second() -> None:
        group.preparing = group.preparation_published_output = group.calls.count("admit_next") == 2

    def prepared() -> None:
        group.preparing = False

    def close_at_second() -> None:
        if group.calls.count("can_burst") == 2:
            group.close()

    group.on = {"admit_next": prepare_at_second, "advance_preparation": prepared, "can_burst": close_at_second}

    await drive(group, ManualClock())

    assert group.calls.count("prune_cancelled") == 3


async def test_l17_the_loop_is_given_way_to_while_admissions_do_not_take() -> None:
    group = FakeGroup(1)
    group.takes = False
    asyncio.get_running_loop().call_soon(group.close)

    await asyncio.wait_for(drive(group, ManualClock()), timeout=60)

    assert "advance" not in group.calls


async def test_l18_tasks_of_a_group_that_cannot_run_them_do_not_keep_it_awake() -> None:
    group = FakeGroup()
    group.pending_tasks = 1
    driving = asyncio.create_task(drive(group, ManualClock()))
    await settle()

    assert group.calls == ["prune_cancelled", "wait_for_work"]
    assert group.held == 0
    group.close()
    await driving


async def test_l20_a_close_without_a_wait_lets_the_turn_come_to_its_end() -> None:
    group = FakeGroup(1)
    group.rows = [5]
    group.on["admit_next"] = group.close

    await drive(group, ManualClock())

    assert group.calls.count("advance") == 1


async def test_l21_after_the_driver_has_ended_the_group_refuses_work() -> None:
    group = FakeGroup(1)

    def broken() -> None:
        raise ValueError("prompt broke")

    group.on["advance_preparation"] = broken
    group.preparing = True

    await drive(group, ManualClock())

    assert [str(error) for error in group.failed] == ["prompt broke"]
    assert group.held == 0
    with pytest.raises(RuntimeError, match="closed"):
        group.submit(1)


async def test_l22_a_close_while_the_device_is_waited_for_ends_the_driver() -> None:
    group = FakeGroup(1)
    group.shares_execution = True
    group.on["acquire_execution"] = group.close

    await drive(group, ManualClock())

    assert group.calls == [
        "prune_cancelled",
        "reserve_residency",
        "acquire_execution",
        "fail_all",
        "release_execution",
        "release_residency",
    ]


async def test_l19_a_hold_that_was_lifted_while_the_device_was_waited_for_starts_no_new_turn() -> None:
    group = FakeGroup(1)
    group.rows = [1]
    group.shares_execution = True
    group.admission_held = True

    def lift() -> None:
        group.admission_held = False

    group.on["acquire_execution"] = lift
    group.on["advance"] = group.close

    await drive(group, ManualClock())

    assert group.calls[:4] == ["prune_cancelled", "reserve_residency", "acquire_execution", "advance"]


async def test_l19_a_hold_that_was_there_before_the_device_was_waited_for_starts_no_new_turn() -> None:
    group = FakeGroup(1)
    group.rows = [1]
    group.shares_execution = group.admission_held = True
    group.on["advance"] = group.close

    await drive(group, ManualClock())

    assert group.calls[:4] == ["prune_cancelled", "reserve_residency", "acquire_execution", "advance"]


async def test_l19_a_hold_that_comes_without_a_wait_governs_the_next_turn() -> None:
    group = FakeGroup(1)

    def hold() -> None:
        group.admission_held = True

    group.on = {"reserve_residency": hold, "advance": group.close}

    await drive(group, ManualClock())

    assert group.calls[:4] == ["prune_cancelled", "reserve_residency", "admit_next", "advance"]


async def test_l23_work_that_comes_while_the_leases_are_given_back_is_not_forgotten() -> None:
    group = FakeGroup(1)

    def enqueue() -> None:
        if group.calls.count("release_residency") == 1:
            group.submit(2)
        else:
            group.close()

    group.on["release_residency"] = enqueue

    await asyncio.wait_for(drive(group, ManualClock()), timeout=60)

    assert group.calls.count("admit_next") == 2
    assert group.calls.count("advance") == 3


async def test_l23_a_held_group_with_work_does_not_starve_the_loop() -> None:
    group = FakeGroup(1)
    group.admission_held = True
    asyncio.get_running_loop().call_soon(group.close)

    await asyncio.wait_for(drive(group, ManualClock()), timeout=60)

    assert "admit_next" not in group.calls


async def test_p7_a_cancelled_driver_fails_every_row_gives_everything_back_and_stays_cancelled() -> None:
    group = FakeGroup(1000, max_active=1)
    group.shares_execution = True

    def cancel_at_third() -> None:
        if group.calls.count("advance") == 3:
            driving.cancel()

    group.on["advance"] = cancel_at_third
    driving = asyncio.create_task(drive(group, AsyncioClock()))
    await asyncio.wait([driving])

    assert driving.cancelled()
    assert group.active_failures == []
    assert [str(error) for error in group.failed] == [str(RefusedError(Refusal.SCHEDULER_CLOSED))]
    assert group.held == 0


async def test_p7_a_row_alone_gives_way_every_25_milliseconds() -> None:
    group, clock, others = FakeGroup(100), ManualClock(), list[float]()

    def tick() -> None:
        clock.now += 5
        if group.calls.count("advance") == 1:
            asyncio.get_running_loop().call_soon(lambda: others.append(clock.now))
        if group.calls.count("advance") == 20:
            group.close()

    group.on["advance"] = tick

    await drive(group, clock)

    assert others == [25]


async def test_an_error_of_ending_is_raised_as_it_is() -> None:
    group = FakeGroup(1)
    group.on["advance"] = group.close

    def broken() -> None:
        raise ValueError("release broke")

    group.on["release_residency"] = broken

    with pytest.raises(ValueError, match="release broke"):
        await drive(group, ManualClock())
    assert group.held == 0


async def test_several_errors_of_ending_are_raised_together() -> None:
    group = FakeGroup(1)
    group.shares_execution = True
    group.on["advance"] = group.close

    def broken() -> None:
        raise ValueError("broke")

    group.on |= dict.fromkeys(("fail_all", "release_execution", "release_residency"), broken)

    with pytest.raises(ExceptionGroup, match="the scheduler did not end cleanly") as raised:
        await drive(group, ManualClock())
    final, leases = raised.value.exceptions
    assert isinstance(final, ValueError)
    assert isinstance(leases, ExceptionGroup)
    assert leases.message == "leases were not given back"
    assert len(leases.exceptions) == 2

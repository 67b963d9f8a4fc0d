"""What the core does where the recorded behaviour is a defect, one test for each such scenario."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.execution.scheduler import MAX_IDLE_BURSTS
from tests.engine.conformance.compare import compare
from tests.engine.conformance.scheduler_adapter import play_scheduler
from tests.engine.conformance.session_adapter import play_session

Json = dict[str, Any]
SCENARIOS = Path(__file__).parent / "scenarios"


def scenario(name: str, **changes: Any) -> Json:
    read: Json = json.loads((SCENARIOS / f"{name}.json").read_text())
    return read | changes


def entries(record: Json, lane: str, what: str) -> list[Json]:
    return [e for step in record["steps"] for e in step["trace"] if (e["lane"], e["what"]) == (lane, what)]


def calls(record: Json) -> list[str]:
    return [entry[0] for entry in record["trace"]]


async def test_admissions_that_do_not_take_give_way_after_a_bounded_number_of_turns() -> None:
    record = await play_scheduler(scenario("sched_admit_spin", maxCalls=400))

    first_yield = calls(record).index("yield")
    assert calls(record)[:first_yield].count("canBurst") == MAX_IDLE_BURSTS
    assert calls(record)[:first_yield].count("admitNext") == MAX_IDLE_BURSTS + 1
    assert calls(record).count("yield") >= 3


async def test_a_close_during_preparation_stops_the_active_rows_too() -> None:
    record = await play_scheduler(scenario("sched_closed_in_preparation_active"))

    assert calls(record) == [
        "pruneCancelled",
        "reserveResidency",
        "advancePreparation",
        "yield",
        "failAll",
        "releaseResidency",
    ]


async def test_a_hold_that_comes_while_the_device_is_waited_for_lets_nothing_in() -> None:
    record = await play_scheduler(scenario("sched_hold_during_acquire", maxCalls=12))

    assert "admitNext" not in calls(record)
    # Seen at once: the next turn prunes, finds nothing that may begin, and gives the device back.
    assert calls(record)[2:7] == [
        "acquireExecution",
        "pruneCancelled",
        "releaseExecution",
        "releaseResidency",
        "waitForWork",
    ]


async def test_a_hold_that_comes_while_the_device_is_waited_for_lets_no_task_run() -> None:
    record = await play_scheduler(scenario("sched_hold_during_acquire_tasks"))

    assert "advanceTask" not in calls(record)
    assert calls(record)[2:5] == ["acquireExecution", "pruneCancelled", "advance"]


async def test_tasks_that_a_group_cannot_run_do_not_keep_it_busy() -> None:
    record = await play_scheduler(scenario("sched_task_without_support"))

    assert "reserveResidency" not in calls(record)
    assert "yield" not in calls(record)
    assert calls(record)[:2] == ["pruneCancelled", "waitForWork"]


async def test_a_failing_listener_does_not_keep_a_cancellation_from_taking_effect() -> None:
    record = await play_session(scenario("session_cancel_listener_throws"))

    cancelled = record["steps"][3]
    assert cancelled["state"] == "terminal"
    assert cancelled["pending"] == []
    assert entries(record, "control", "error") == []
    assert [e["error"] for e in entries(record, "unhandled", "rejection")] == [
        {"kind": "script", "message": "listener broke"}
    ]
    assert [e for e in entries(record, "consumer", "ok") if "event" in e][1:] == []


async def test_an_event_that_has_woken_the_reader_is_its_own_even_if_the_producer_then_cancels() -> None:
    played = scenario("session_commit_then_cancel_reader_waiting")

    assert compare("session", played["expect"], await play_session(played)) == []


async def test_a_callback_may_await_the_cancellation_of_its_session() -> None:
    record = await play_session(scenario("session_deadlock_cancel_in_callback"))

    assert record["final"]["pending"] == []
    assert record["final"]["outcome"] == {"status": "cancelled", "reason": "requested", "committedTokens": 1}
    assert entries(record, "control", "ok") != []


async def test_prepare_may_await_the_return_of_the_iterator() -> None:
    record = await play_session(scenario("session_deadlock_return_in_prepare"))

    assert record["final"]["pending"] == []
    assert record["final"]["outcome"] == {"status": "cancelled", "reason": "consumer_closed", "committedTokens": 0}


@pytest.mark.parametrize(
    ("name", "label", "tokens"),
    [
        ("session_detached_commit_after_end", "commit#3", 2),
        ("session_detached_commit_done_then_event", "commit#1", 1),
        ("session_overlap_checked_first", "commit#1", 0),
    ],
)
async def test_a_publication_left_blocked_when_the_method_returns_is_refused(
    name: str, label: str, tokens: int
) -> None:
    record = await play_session(scenario(name))

    refused = [e for e in entries(record, "method", "error") if e["op"] == label]
    assert [e["error"] for e in refused] == [{"kind": "publication_outside_execution"}]
    assert record["final"]["outcome"]["committedTokens"] == tokens
    assert record["final"]["pending"] == []
    assert record["steps"][-1]["timers"] == []
    read = [e["event"] for e in entries(record, "consumer", "ok") if "event" in e]
    assert sum(len(event.get("tokenIds", ())) for event in read) == tokens


async def test_an_overlapping_publication_is_refused_before_anything_else_is_looked_at() -> None:
    record = await play_session(scenario("session_overlap_checked_first"))

    errors = {e["op"]: e["error"]["kind"] for e in entries(record, "method", "error")}
    assert errors["commit#2"] == errors["progress#3"] == "overlapping_publication"


async def test_the_first_reason_wins_also_inside_a_cancellation() -> None:
    record = await play_session(scenario("session_reentrant_cancel"))

    assert record["final"]["outcome"]["reason"] == "requested"
    assert record["final"]["terminalCalls"] == 1


async def test_a_read_begun_inside_a_cancellation_starts_nothing() -> None:
    steps = [{"do": "iterator"}, {"do": "cancel", "reason": "requested"}]
    record = await play_session(scenario("session_reentrant_cancel", onTimerStop=[{"do": "next"}], steps=steps))

    assert entries(record, "lifecycle", "prepare") == []
    assert [e["done"] for e in entries(record, "consumer", "ok")] == [True]
    assert record["final"]["pending"] == []


async def test_a_failing_terminal_hook_does_not_fail_the_cancellation() -> None:
    record = await play_session(scenario("session_terminal_hook_throws_in_cancel"))

    assert [e["op"] for e in entries(record, "control", "ok")] == ["cancel#1", "cancel#2"]
    assert [e["error"]["message"] for e in entries(record, "unhandled", "rejection")] == ["hook broke"]


async def test_a_session_that_cannot_unsubscribe_still_settles() -> None:
    record = await play_session(scenario("session_unsubscribe_throws"))

    assert record["final"]["outcome"] == {"status": "completed", "result": {"finish": "stop"}, "committedTokens": 1}
    assert record["final"]["terminalCalls"] == 1
    assert record["final"]["pending"] == []


async def test_a_session_without_room_for_a_single_token_is_refused() -> None:
    with pytest.raises(ValueError, match="room for one event of one token"):
        await play_session(scenario("session_zero_token_capacity"))

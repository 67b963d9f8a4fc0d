"""The reader of a session: cancelled reads, early exits, idle time."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest

from engine.contracts import Cancelled, Committed, Completed, Output, SessionState
from engine.execution.refusals import Refusal, RefusedError
from engine.execution.session import GenerationSession, SessionLimits
from tests.engine.execution.fakes import FakeMethod, ManualClock, committing, read_all, settle

LIMITS = SessionLimits(max_queued_events=2, max_queued_tokens=4, idle_timeout_ms=1000)


class GatedMethod(FakeMethod):
    """Commits 1, waits for its gate, commits 2 and 3."""

    def __init__(self) -> None:
        super().__init__(self._commit)
        self.gate = asyncio.Event()

    async def _commit(self, output: Output) -> None:
        await output.commit([1])
        await self.gate.wait()
        await committing(output, 2, 3)


def opened() -> tuple[GatedMethod, ManualClock, GenerationSession[Any]]:
    method, clock = GatedMethod(), ManualClock()
    return method, clock, GenerationSession(method.prepare, clock=clock, limits=LIMITS)


def opened_to_block() -> tuple[GatedMethod, ManualClock, GenerationSession[Any]]:
    """The same with room for one event only: after its gate, the method is soon blocked."""
    method, clock = GatedMethod(), ManualClock()
    limits = SessionLimits(max_queued_events=1, idle_timeout_ms=1000)
    return method, clock, GenerationSession(method.prepare, clock=clock, limits=limits)


def committed(sequence: int, *tokens: int) -> Committed:
    return Committed(sequence, tokens)


async def test_p2_a_cancelled_read_takes_nothing_and_clears_the_way_for_the_next() -> None:
    method, _, session = opened()
    reader = session.__aiter__()
    assert await anext(reader) == committed(0, 1)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    read.cancel()
    await asyncio.wait([read])

    method.gate.set()
    assert await read_all(reader) == [committed(1, 2), committed(2, 3)]


async def test_p2_a_cancelled_read_restarts_the_idle_time() -> None:
    method, clock, session = opened()
    reader = session.__aiter__()
    await anext(reader)
    clock.advance(600)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    assert clock.live == []
    clock.advance(5000)
    read.cancel()
    await asyncio.wait([read])

    assert [timer.deadline for timer in clock.live] == [6600]
    clock.advance(999)
    assert session.state is SessionState.RUNNING
    clock.advance(1)
    method.gate.set()
    assert await session.outcome() == Cancelled("consumer_idle", 1)


async def test_p2_an_event_that_has_woken_a_read_survives_its_cancellation() -> None:
    method, _, session = opened()
    reader = session.__aiter__()
    await anext(reader)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    method.gate.set()
    # One turn: the method has committed and thereby woken the read, which has not run yet.
    await asyncio.sleep(0)
    read.cancel()
    await asyncio.wait([read])
    assert read.cancelled()

    assert await read_all(reader) == [committed(1, 2), committed(2, 3)]
    assert await session.outcome() == Completed(None, 3)


@pytest.mark.parametrize("first", ["session", "read"])
async def test_p2_an_event_that_has_woken_a_read_is_dropped_if_both_are_cancelled(first: str) -> None:
    method, _, session = opened()
    reader = session.__aiter__()
    await anext(reader)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    method.gate.set()
    await asyncio.sleep(0)
    ways: list[Callable[[], object]] = [lambda: session._cancel_nowait("requested"), read.cancel]
    for way in ways if first == "session" else reversed(ways):
        way()
    await asyncio.wait([read])

    assert read.cancelled()
    assert await read_all(reader) == []
    assert await session.outcome() == Cancelled("requested", 3)


async def test_p6_an_event_that_has_woken_its_reader_is_not_dropped() -> None:
    method, _, session = opened()
    reader = session.__aiter__()
    await anext(reader)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    method.gate.set()
    await asyncio.sleep(0)
    session._cancel_nowait("requested")

    assert await read == committed(1, 2)
    assert await read_all(reader) == []
    assert await session.outcome() == Cancelled("requested", 3)


async def test_p4_leaving_a_loop_early_closes_the_session() -> None:
    method, clock, session = opened()

    async for _ in session:
        break
    gc.collect()
    await settle()
    method.gate.set()

    assert await session.outcome() == Cancelled("consumer_closed", 1)
    assert clock.live == []


async def test_cancelling_after_the_end_leaves_what_is_unread() -> None:
    method, _, session = opened()
    method.gate.set()
    reader = session.__aiter__()
    await anext(reader)
    await settle()
    await session.cancel()
    await session.close()

    assert await read_all(reader) == [committed(1, 2), committed(2, 3)]
    assert await session.outcome() == Completed(None, 3)


async def test_p4_a_reader_that_vanishes_after_the_end_changes_nothing() -> None:
    method, _, session = opened()
    method.gate.set()
    reader = session.__aiter__()
    await anext(reader)
    await settle()
    del reader
    gc.collect()
    await settle()

    assert await session.outcome() == Completed(None, 3)


def test_p4_a_reader_may_vanish_when_its_loop_is_closed() -> None:
    async def main() -> Any:
        _, _, session = opened()
        return session.__aiter__()

    reader = asyncio.run(main())
    del reader
    gc.collect()


async def test_p4_a_session_left_as_a_context_is_closed() -> None:
    method, _, session = opened()
    method.gate.set()

    async with session as entered:
        reader = entered.__aiter__()
        assert await anext(reader) == committed(0, 1)

    assert session.state is SessionState.TERMINAL
    assert await session.outcome() == Cancelled("consumer_closed", 2)


async def test_l13_no_idle_time_runs_during_a_read() -> None:
    method, clock, session = opened()
    reader = session.__aiter__()
    await anext(reader)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    clock.advance(1_000_000)
    method.gate.set()

    assert await read == committed(1, 2)
    assert [timer.deadline for timer in clock.live] == [1_001_000]
    await reader.aclose()


async def test_a_producer_that_becomes_blocked_gives_the_reader_the_whole_time_again() -> None:
    method, clock, session = opened_to_block()
    reader = session.__aiter__()
    await anext(reader)
    clock.advance(600)
    method.gate.set()
    await settle()
    assert [timer.deadline for timer in clock.live] == [1600]

    await reader.aclose()


async def test_a_producer_that_overtakes_a_woken_reader_starts_no_idle_time() -> None:
    method, clock, session = opened_to_block()
    reader = session.__aiter__()
    await anext(reader)
    read = asyncio.ensure_future(anext(reader))
    await settle()
    method.gate.set()
    # One turn: the method has filled the queue and is blocked; the read it has woken has not run yet.
    await asyncio.sleep(0)
    assert (len(session._queue), clock.live, read.done()) == (1, [], False)

    await read
    assert [timer.deadline for timer in clock.live] == [1000]
    await reader.aclose()


async def test_a_refused_second_read_leaves_the_idle_time_alone() -> None:
    method, clock, session = opened()
    reader = session.__aiter__()
    await anext(reader)
    read = asyncio.ensure_future(anext(reader))
    await settle()

    with pytest.raises(RefusedError) as refused:
        await anext(reader)
    assert refused.value.refusal is Refusal.CONCURRENT_NEXT
    assert clock.live == []
    method.gate.set()
    assert await read == committed(1, 2)
    await reader.aclose()


async def test_without_a_timeout_nothing_is_timed() -> None:
    clock = ManualClock()
    method = FakeMethod(lambda output: committing(output, 1, 2, 3))
    limits = SessionLimits(max_queued_events=1, idle_timeout_ms=None)
    session = GenerationSession(method.prepare, clock=clock, limits=limits)
    reader = session.__aiter__()
    await anext(reader)
    await settle()

    assert clock.live == []
    assert len(await read_all(reader)) == 2


@pytest.mark.parametrize(
    "limits",
    [
        {"max_queued_events": 0},
        {"max_queued_tokens": 0},
        {"max_queued_tokens": -1},
        {"max_top_logprobs": -1},
        {"idle_timeout_ms": -1},
        {"idle_timeout_ms": float("nan")},
        {"idle_timeout_ms": float("inf")},
    ],
)
def test_l8_limits_that_let_nothing_pass_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"room for one|cannot be negative|neither None nor a finite"):
        SessionLimits(**limits)


def test_l8_the_smallest_limits_pass() -> None:
    SessionLimits(max_queued_events=1, max_queued_tokens=1, max_top_logprobs=0, idle_timeout_ms=0)

"""The engine's own clock."""

import asyncio

from engine.runtime.clock import AsyncioClock


async def test_time_is_in_milliseconds_and_timers_fire_when_they_are_due() -> None:
    clock, fired = AsyncioClock(), asyncio.Event()
    before = clock.now_ms()
    clock.call_later(20, fired.set)
    await asyncio.wait_for(fired.wait(), timeout=60)

    assert 19 <= clock.now_ms() - before < 60_000


async def test_timers_fire_in_the_order_of_their_delays() -> None:
    clock, fired, last = AsyncioClock(), list[int](), asyncio.Event()
    clock.call_later(10, last.set)
    clock.call_later(2, lambda: fired.append(2))
    clock.call_later(1, lambda: fired.append(1))
    await asyncio.wait_for(last.wait(), timeout=60)

    assert fired == [1, 2]


async def test_a_stopped_timer_does_not_fire_and_may_be_stopped_again() -> None:
    clock, fired, later = AsyncioClock(), list[str](), asyncio.Event()
    timer = clock.call_later(1, lambda: fired.append("stopped"))
    timer.stop()
    timer.stop()
    clock.call_later(5, later.set)
    await asyncio.wait_for(later.wait(), timeout=60)

    assert fired == []

"""Between two units of work, a chain of callbacks runs to its end."""

import asyncio

from engine.runtime.turns import let_the_loop_catch_up


async def test_a_chain_of_wake_ups_comes_to_its_end() -> None:
    events = [asyncio.Event() for _ in range(8)]

    async def pass_on(place: int) -> None:
        await events[place].wait()
        events[place + 1].set()

    tasks = [asyncio.create_task(pass_on(place)) for place in range(7)]
    await asyncio.sleep(0)
    events[0].set()
    await let_the_loop_catch_up()

    assert events[-1].is_set()
    await asyncio.gather(*tasks)

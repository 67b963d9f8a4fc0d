"""Giving way to everything else on the loop."""

import asyncio
from typing import Final

_TURNS: Final = 12
"""From a Stop on the wire to a row that is dropped, each step of the chain wakes the next one turn later: read, decode,
a task, the session, its reader. One turn between two units would spread that chain over as many units."""


async def let_the_loop_catch_up() -> None:
    """Return once every chain of callbacks of ordinary length that was ready has run to its end. Costs microseconds."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)

"""A client whose engine the test plays."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.contracts import (
    Committed,
    GenerationRequest,
)
from engine.host.client import EngineClient
from tests.engine.host.raw import RawEngine

REQUEST = GenerationRequest(model="tiny", messages=())
SEGFAULT = -11


def word(sequence: int) -> Committed:
    return Committed(sequence, (sequence,))


@asynccontextmanager
async def playing(engine: RawEngine) -> AsyncIterator[EngineClient]:
    """A client whose engine the test plays."""
    client = EngineClient(engine.launch)
    try:
        yield client
    finally:
        closing = asyncio.create_task(client.aclose())
        await asyncio.sleep(0)
        engine.die(0)
        await closing

"""An app that a test kills: launches an engine, tells its process id, then waits to be killed."""

import asyncio
import sys
from functools import partial

from engine.contracts import GenerationRequest
from engine.host.client import EngineClient
from engine.host.launch import launch_engine


async def main(engine: str, model: str) -> None:
    """Keep a session running for ever."""
    client = EngineClient(partial(launch_engine, engine=f"tests.engine.host.factories:{engine}"))
    reader = aiter(client.generate(GenerationRequest(model=model, messages=())))
    await anext(reader)
    sys.stdout.write(f"{client.engine_pid}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))

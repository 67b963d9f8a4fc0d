"""The engines that keep one contract."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from engine.contracts import Engine
from engine.host.client import EngineClient
from tests.engine.contract.run_engine import RunEngine
from tests.engine.host.loopback import Loopback


@dataclass(frozen=True)
class Bench:
    """An engine under test, with the sessions' own engine behind it."""

    engine: Engine
    inner: RunEngine


@pytest.fixture(params=["in_process", "over_the_wire"])
async def bench(request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    inner = RunEngine()
    if request.param == "in_process":
        yield Bench(inner, inner)
        await inner.aclose()
    else:
        client = EngineClient(Loopback(lambda: inner))
        await client.wait_started()
        yield Bench(client, inner)
        await client.aclose()

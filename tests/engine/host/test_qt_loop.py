"""The client on Qt's loop, where the app runs it."""

import asyncio
import os
import signal
from functools import partial

import pytest
from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

from engine.contracts import Failed, GenerationRequest
from engine.host.client import EngineClient
from engine.host.launch import launch_engine


async def live_through_a_crash() -> None:
    client = EngineClient(partial(launch_engine, engine="tests.engine.host.factories:process_engine"))
    session = client.generate(GenerationRequest(model="tiny", messages=(), max_tokens=500))
    assert len([event async for event in session]) == 501

    session = client.generate(GenerationRequest(model="endless", messages=()))
    reader = aiter(session)
    await anext(reader)
    assert client.engine_pid is not None
    os.kill(client.engine_pid, signal.SIGKILL)
    assert isinstance(await session.outcome(), Failed)

    session = client.generate(GenerationRequest(model="endless", messages=()))
    reader = aiter(session)
    await anext(reader)
    await session.cancel()
    await client.aclose()


@pytest.mark.usefixtures("leaves_no_process")
def test_sessions_crashes_and_closing_work_on_qt_s_loop(qapp: QApplication) -> None:
    with asyncio.Runner(loop_factory=lambda: QEventLoop(qapp)) as runner:
        runner.run(live_through_a_crash())

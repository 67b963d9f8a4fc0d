"""The engine's end of the wire, against an app that may say anything."""

import asyncio
import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine.contracts import (
    ENGINE_CLOSED,
    Cancelled,
    Engine,
    EngineStatus,
    Failed,
    GenerationRequest,
    LoadRequest,
    Problem,
    ProblemError,
)
from engine.host.framing import encode_frame
from engine.host.messages import (
    WIRE_VERSION,
    CallFailed,
    Cancel,
    Ended,
    Event,
    GetStatus,
    Grant,
    Hello,
    Open,
    Shutdown,
    encode,
)
from engine.host.server import EngineServer
from tests.engine.contract.run_engine import RunEngine
from tests.engine.host.raw import RawApp

ENDLESS = GenerationRequest(model="endless", messages=())
OPEN = Open(1, ENDLESS, 2)


@asynccontextmanager
async def serving(build: Callable[[], Engine]) -> AsyncIterator[tuple[RawApp, "asyncio.Task[None]"]]:
    """A server with the test at the other end of its wire."""
    ours, theirs = socket.socketpair()
    app = RawApp(ours)
    serve = asyncio.create_task(EngineServer(build).serve(theirs))
    try:
        yield app, serve
    finally:
        app.close()
        async with asyncio.timeout(10):
            await serve


async def test_the_handshake_is_answered_before_the_engine_is_built() -> None:
    built: list[bool] = []

    def build() -> Engine:
        built.append(True)
        return RunEngine()

    async with serving(build) as (app, _):
        assert isinstance(await app.receive(), Hello)
        assert built == []
        await app.send(Hello(WIRE_VERSION, 1))
        await app.send(GetStatus(1))
        await app.receive()
        assert built == [True]


async def test_no_more_events_are_sent_than_granted() -> None:
    async with serving(RunEngine) as (app, _):
        await app.greet()
        await app.send(OPEN)
        await app.send(Grant(1, 1))
        kinds = [type(await app.receive()) for _ in range(3)]
        await app.send(GetStatus(9))
        assert kinds == [Event] * 3
        assert (await app.receive()).call == 9


async def test_an_app_that_reads_nothing_stops_the_work_however_much_it_granted() -> None:
    engine = RunEngine()
    async with serving(lambda: engine) as (app, _):
        await app.send(Hello(WIRE_VERSION, 1))
        await app.send(Open(1, ENDLESS, 10**9))
        committed = -1
        while engine.committed == 0 or committed != engine.committed:
            committed = engine.committed
            for _ in range(1000):
                await asyncio.sleep(0)
        assert committed < 20_000


async def test_a_vanished_app_ends_every_session_and_closes_the_engine() -> None:
    engine = RunEngine()
    async with serving(lambda: engine) as (app, serve):
        await app.greet()
        await app.send(OPEN)
        await app.receive()
        app.close()
        async with asyncio.timeout(10):
            await serve
    assert engine.reasons == [ENGINE_CLOSED]
    assert engine.closed


async def test_a_shutdown_tells_every_session_s_end_before_the_wire_closes() -> None:
    async with serving(RunEngine) as (app, _):
        await app.greet()
        await app.send(OPEN)
        await app.receive()
        await app.send(Shutdown())
        messages = []
        while (message := await app.receive()) is not None:
            messages.append(message)
        assert isinstance(messages[-1], Ended)
        assert isinstance(messages[-1].outcome, Cancelled)
        assert messages[-1].outcome.reason == ENGINE_CLOSED


async def test_an_app_of_another_version_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(RunEngine) as (app, serve):
        await app.send(Hello(WIRE_VERSION + 1, 1))
        assert await app.receive() == Hello(WIRE_VERSION, os.getpid())
        assert await app.receive() is None
        await serve
    assert "version" in caplog.text
    caplog.clear()


Misconduct = Callable[[RawApp], Coroutine[Any, Any, None]]


def _says(*contents: bytes) -> Misconduct:
    async def misbehave(app: RawApp) -> None:
        for content in contents:
            await app.send_bytes(content)

    return misbehave


async def _ends_within_a_frame(app: RawApp) -> None:
    await app.send_bytes(encode_frame(encode(GetStatus(1)))[:-1])
    app.close()


@pytest.mark.parametrize(
    "misbehave",
    [
        pytest.param(_says(b"GET / HTTP/1.1\r\n\r\n"), id="another protocol"),
        pytest.param(_says(struct.pack(">I", 2**32 - 1)), id="oversized"),
        pytest.param(_says(encode_frame(b"\xc1\xc1")), id="garbage"),
        pytest.param(_says(encode_frame(b"")), id="empty"),
        pytest.param(_says(encode_frame(encode(Event(1, None)))), id="message of the other side"),  # type: ignore[arg-type]
        pytest.param(_says(encode_frame(encode(OPEN)), encode_frame(encode(OPEN))), id="channel opened twice"),
        pytest.param(_ends_within_a_frame, id="truncated"),
    ],
)
async def test_misconduct_ends_in_order(misbehave: Misconduct, caplog: pytest.LogCaptureFixture) -> None:
    engine = RunEngine()
    async with serving(lambda: engine) as (app, serve):
        await app.greet()
        await misbehave(app)
        async with asyncio.timeout(10):
            await serve
    assert engine.closed
    assert "The wire broke" in caplog.text
    caplog.clear()


async def test_a_message_before_the_handshake_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(RunEngine) as (app, serve):
        await app.send(OPEN)
        await serve
    assert "before the handshake" in caplog.text
    caplog.clear()


async def test_words_about_a_channel_that_has_ended_are_ignored() -> None:
    async with serving(RunEngine) as (app, _):
        await app.greet()
        await app.send(Grant(7, 1))
        await app.send(Cancel(7, "late"))
        await app.send(GetStatus(1))
        assert (await app.receive()).call == 1


async def test_an_engine_that_cannot_be_built_fails_what_is_asked_with_the_reason() -> None:
    problem = Problem(code="no_memory", sentence="There is no memory.")

    def build() -> Engine:
        raise ProblemError(problem)

    async with serving(build) as (app, _):
        await app.greet()
        await app.send(OPEN)
        ended = await app.receive()
        await app.send(GetStatus(1))
        assert isinstance(ended, Ended)
        assert isinstance(ended.outcome, Failed)
        assert ended.outcome.error.problem == problem
        assert await app.receive() == CallFailed(1, problem)


async def test_libraries_that_cannot_be_loaded_are_named(caplog: pytest.LogCaptureFixture) -> None:
    def build() -> Engine:
        raise ImportError("libmlx is missing")

    async with serving(build) as (app, _):
        await app.greet()
        await app.send(GetStatus(1))
        failed = await app.receive()
    assert failed.problem.code == "engine_cannot_start"
    assert "ImportError: libmlx is missing" in failed.problem.sentence
    caplog.clear()


class BrokenEngine(RunEngine):
    """Breaks its promise: raises where it must not."""

    def generate(self, request: GenerationRequest) -> Any:
        session = super().generate(request)
        session.outcome = self._raise  # type: ignore[method-assign]
        return session

    async def _raise(self) -> Any:
        raise LookupError("holds a quoted message")

    async def status(self) -> EngineStatus:
        raise LookupError("holds a quoted message")

    async def aclose(self) -> None:
        await super().aclose()
        raise LookupError("cannot close")


async def test_a_session_that_breaks_its_promise_still_ends(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(BrokenEngine) as (app, _):
        await app.greet()
        await app.send(OPEN)
        while not isinstance(message := await app.receive(), Ended):
            pass
    assert isinstance(message.outcome, Failed)
    assert message.outcome.error.problem is not None
    assert message.outcome.error.problem.code == "engine_fault"
    assert "LookupError" in message.outcome.error.message
    assert "quoted" not in message.outcome.error.message
    assert "did not close cleanly" in caplog.text
    caplog.clear()


async def test_a_result_that_cannot_be_written_still_ends_its_session(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(RunEngine) as (app, _):
        await app.greet()
        await app.send(Open(1, LoadRequest("huge"), 9))
        while not isinstance(message := await app.receive(), Ended):
            pass
    assert isinstance(message.outcome, Failed)
    assert "OverflowError" in message.outcome.error.message
    caplog.clear()


async def test_a_call_that_breaks_its_promise_is_still_answered(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(BrokenEngine) as (app, _):
        await app.greet()
        await app.send(GetStatus(1))
        failed = await app.receive()
    assert (failed.call, failed.problem.code) == (1, "engine_fault")
    assert "quoted" not in failed.problem.sentence
    caplog.clear()


async def test_what_is_asked_after_a_shutdown_is_not_begun() -> None:
    engine = RunEngine()
    async with serving(lambda: engine) as (app, _):
        await app.greet()
        await app.send_bytes(encode_frame(encode(Shutdown())) + encode_frame(encode(OPEN)))
        assert await app.receive() is None
    assert engine.prepared == []

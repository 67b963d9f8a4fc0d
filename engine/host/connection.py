"""The app's end of the wire during the life of one engine process."""

import asyncio
import enum
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, assert_never, cast

import msgspec

from engine.contracts import ENGINE_CLOSED, EngineStatus, ModelDescription, Problem, ProblemError
from engine.host import problems
from engine.host.calls import PendingCalls
from engine.host.engine_handle import REAP_SECONDS, EngineHandle, Launcher, reap
from engine.host.framing import encode_frame
from engine.host.link import Link
from engine.host.messages import (
    WIRE_VERSION,
    CallFailed,
    Cancel,
    Ended,
    Event,
    GetStatus,
    Grant,
    Hello,
    ListModels,
    Models,
    Open,
    Shutdown,
    Status,
    ToApp,
    ToEngine,
    decode_for_app,
    encode_checked,
)
from engine.host.remote_session import WINDOW_EVENTS, RemoteSession

HANDSHAKE_SECONDS: Final = 30.0
CLOSE_SECONDS: Final = 1.4


class Phase(enum.Enum):
    """Where a connection is in its life; it only moves forward."""

    STARTING = enum.auto()
    """What is sent waits for the handshake."""
    READY = enum.auto()
    ENDING = enum.auto()
    """What is sent is dropped: everything open is about to end."""


class EngineConnection:
    """Launches one engine process and sees it to its end; whoever makes one awaits `live` in a task of its own."""

    def __init__(self, launch: Launcher, handshake_seconds: float = HANDSHAKE_SECONDS) -> None:
        self._launch = launch
        self._handshake_seconds = handshake_seconds
        self._phase = Phase.STARTING
        self._link: Link[ToApp] = Link(decode_for_app, self._receive, self._lose)
        self._unsent: list[bytes] = []
        self._sessions: dict[int, RemoteSession[Any]] = {}
        self._calls = PendingCalls()
        self._last_channel = 0
        self._problem: Problem | None = None
        self._closed_by_app = False
        self._grace_seconds = REAP_SECONDS
        self._settled_start = asyncio.Event()
        self._over = asyncio.Event()
        self.engine_pid: int | None = None
        """The process that answered the handshake."""

    @property
    def is_usable(self) -> bool:
        """What is sent now reaches the engine, unless it dies."""
        return self._phase is not Phase.ENDING

    async def live(self) -> Problem | None:
        """From launch to burial. Returns why the process ended, or None when the app had closed it."""
        if self._closed_by_app:
            return self._bury(None)
        try:
            engine = self._launch()
        except OSError as error:
            return self._bury(problems.cannot_start(str(error)))
        try:
            await self._converse(engine)
            exit_code = await reap(engine, self._grace_seconds)
            return self._bury(self._explain(exit_code, engine.last_words()))
        finally:
            # Reached early when the app's loop is torn down without `close`: no process may stay behind.
            if engine.poll() is None:
                engine.kill()
            self._link.abort()
            engine.close()

    async def wait_started(self) -> None:
        """Return once the handshake is done; raises `ProblemError` when there will be none."""
        await self._settled_start.wait()
        if self.engine_pid is None:
            raise ProblemError(self._problem or problems.engine_closed())

    async def close(self) -> None:
        """Ask the engine to end, and wait a while for it; what still runs then, `live` kills."""
        self._closed_by_app = True
        if self._phase is Phase.READY:
            self._send(Shutdown())
            self._phase = Phase.ENDING
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), CLOSE_SECONDS)
                return
        self._give_up()

    def open(self, session: RemoteSession[Any]) -> "ClientChannel | None":
        """Begin `session` in the engine; None when its request was refused, which ends it."""
        self._last_channel = number = self._last_channel + 1
        try:
            self._send(Open(number, session.request, WINDOW_EVENTS))
        except ProblemError as refusal:
            session.end(problems.failed_with(refusal.problem))
            return None
        self._sessions[number] = session
        return ClientChannel(self, number)

    def grant(self, channel: int, events: int) -> None:
        """The reader of a session has room."""
        self._send(Grant(channel, events))

    def cancel(self, channel: int, reason: str) -> None:
        """A session is to end."""
        self._send(Cancel(channel, reason))

    async def list_models(self, folders: Sequence[str]) -> tuple[ModelDescription, ...]:
        """Raises `ProblemError`."""
        answer = await self._calls.ask(lambda number: self._send(ListModels(number, tuple(folders))))
        return cast(tuple[ModelDescription, ...], answer)

    async def status(self) -> EngineStatus:
        """Raises `ProblemError`."""
        return cast(EngineStatus, await self._calls.ask(lambda number: self._send(GetStatus(number))))

    async def _converse(self, engine: EngineHandle) -> None:
        """Returns once nothing more will be said."""
        await self._link.attach(engine.sock)
        self._link.send_nowait(Hello(WIRE_VERSION, os.getpid()))
        timer = asyncio.get_running_loop().call_later(self._handshake_seconds, self._expire_handshake)
        await self._over.wait()
        timer.cancel()

    def _expire_handshake(self) -> None:
        if self._phase is Phase.STARTING:
            self._give_up(problems.cannot_start(f"it did not answer within {self._handshake_seconds:g} seconds"))

    def _send(self, message: ToEngine) -> None:
        """Raises `ProblemError` for a message that no engine could read."""
        try:
            frame = encode_frame(encode_checked(message))
        except (ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
            raise ProblemError(problems.request_refused(error)) from error
        match self._phase:
            case Phase.STARTING:
                self._unsent.append(frame)
            case Phase.READY:
                self._link.send_frame_nowait(frame)
            case Phase.ENDING:
                pass

    def _receive(self, message: ToApp) -> None:
        match message:
            case Hello():
                self._greet(message)
            case Event(channel=number, event=event):
                if number in self._sessions:
                    self._sessions[number].deliver(event)
            case Ended(channel=number, outcome=outcome):
                if number in self._sessions:
                    self._sessions.pop(number).end(outcome)
            case Models(call=number, models=models):
                self._calls.answer(number, models)
            case Status(call=number, status=status):
                self._calls.answer(number, status)
            case CallFailed(call=number, problem=problem):
                self._calls.fail(number, problem)
            case _:
                assert_never(message)

    def _greet(self, hello: Hello) -> None:
        if hello.version != WIRE_VERSION:
            self._give_up(problems.other_version(engine=hello.version, app=WIRE_VERSION))
        if self._phase is not Phase.STARTING:
            return
        self._phase = Phase.READY
        self.engine_pid = hello.pid
        for frame in self._unsent:
            self._link.send_frame_nowait(frame)
        self._unsent.clear()
        self._settled_start.set()

    def _lose(self, error: Exception | None) -> None:
        if error is None or isinstance(error, OSError):
            self._phase = Phase.ENDING
            self._over.set()
        else:
            self._give_up(problems.unreadable())

    def _give_up(self, problem: Problem | None = None) -> None:
        """Stop talking; the process gets no time to end by itself."""
        self._problem = self._problem or problem
        self._grace_seconds = 0.0
        self._phase = Phase.ENDING
        self._over.set()
        self._link.abort()

    def _explain(self, exit_code: int | None, last_words: str) -> Problem | None:
        if self._closed_by_app:
            return None
        if self._problem is not None:
            return self._problem
        if self.engine_pid is None:
            return problems.cannot_start(last_words or f"it ended with exit code {exit_code}")
        return problems.stopped(exit_code)

    def _bury(self, problem: Problem | None) -> Problem | None:
        """End everything that is still open."""
        self._phase = Phase.ENDING
        self._problem = problem
        for session in self._sessions.values():
            if problem is None:
                session.abandon(ENGINE_CLOSED)
            else:
                session.fail(problem)
        self._sessions.clear()
        self._calls.fail_all(problem or problems.engine_closed())
        self._settled_start.set()
        return problem


class ClientChannel:
    """A session's way to its engine."""

    def __init__(self, connection: EngineConnection, number: int) -> None:
        self._connection = connection
        self._number = number

    def grant(self, events: int) -> None:
        self._connection.grant(self._number, events)

    def cancel(self, reason: str) -> None:
        self._connection.cancel(self._number, reason)

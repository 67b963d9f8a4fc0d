"""The engine's end of the wire."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any, assert_never

from engine.contracts import (
    Engine,
    GenerationRequest,
    InstallRequest,
    LoadRequest,
    Problem,
    ProblemError,
    ScoreRequest,
    Session,
)
from engine.host.channel import Channel
from engine.host.link import Link, ProtocolError
from engine.host.messages import (
    WIRE_VERSION,
    CallFailed,
    Cancel,
    Ended,
    Fit,
    FitPrompt,
    GetStatus,
    Grant,
    Hello,
    ListModels,
    Models,
    Open,
    Request,
    Shutdown,
    Status,
    ToEngine,
    decode_for_engine,
)
from engine.host.problems import cannot_build, engine_fault, failed_with

logger = logging.getLogger(__name__)


class EngineServer:
    """Serves one engine to one app, until the app goes away or asks for the end. Confined to one loop.

    The handshake is answered before `build` is called, so the app knows at once that the engine lives; what `build`
    raises becomes the outcome of every session.
    """

    def __init__(self, build: Callable[[], Engine]) -> None:
        self._build = build
        self._engine: Engine | Problem | None = None
        self._channels: dict[int, Channel] = {}
        self._tasks = asyncio.TaskGroup()
        self._leaving = asyncio.Event()
        self._link: Link[ToEngine] = Link(decode_for_engine, self._receive, self._lose)

    async def serve(self, sock: socket.socket) -> None:
        """Returns when every session has ended and the engine is closed."""
        async with self._tasks:
            await self._link.attach(sock)
            self._link.send_nowait(Hello(WIRE_VERSION, os.getpid()))
            await self._leaving.wait()
            await self._close_engine()
        self._link.close()

    def leave(self) -> None:
        """Begin the orderly end."""
        self._leaving.set()

    def _lose(self, error: Exception | None) -> None:
        if error is not None and not isinstance(error, OSError):
            logger.error("The wire broke: %s", error)
        self.leave()

    async def _close_engine(self) -> None:
        if self._engine is None or isinstance(self._engine, Problem):
            return
        try:
            await self._engine.aclose()
        except Exception:  # the process ends either way; the log keeps the reason
            logger.exception("The engine did not close cleanly")

    def _receive(self, message: ToEngine) -> None:
        if self._leaving.is_set():
            return
        match message:
            case Hello():
                self._greet(message)
            case Open():
                self._open(message)
            case Grant():
                if message.channel in self._channels:
                    self._channels[message.channel].grant(message.events)
            case Cancel():
                if message.channel in self._channels:
                    self._tasks.create_task(self._channels[message.channel].cancel(message.reason))
            case ListModels():
                self._tasks.create_task(self._answer(message.call, self._list_models(message)))
            case FitPrompt():
                self._tasks.create_task(self._answer(message.call, self._fit_prompt(message)))
            case GetStatus():
                self._tasks.create_task(self._answer(message.call, self._get_status(message)))
            case Shutdown():
                self.leave()
            case _:
                assert_never(message)

    def _greet(self, hello: Hello) -> None:
        if hello.version != WIRE_VERSION:
            raise ProtocolError(f"the app speaks version {hello.version} of the wire, the engine {WIRE_VERSION}")
        try:
            self._engine = self._build()
        except ProblemError as error:
            self._engine = error.problem
        except Exception as error:  # whatever a model library raises while it is imported, the app must hear of it
            logger.exception("The engine could not be built")
            self._engine = cannot_build(error)

    def _ready_engine(self) -> Engine:
        match self._engine:
            case None:
                raise ProtocolError("a message came before the handshake")
            case Problem() as problem:
                raise ProblemError(problem)
            case engine:
                return engine

    def _open(self, message: Open) -> None:
        if message.channel in self._channels:
            raise ProtocolError(f"channel {message.channel} is open already")
        try:
            session = _open_session(self._ready_engine(), message.request)
        except ProblemError as error:
            self._link.send_nowait(Ended(message.channel, failed_with(error.problem)))
            return
        channel = Channel(message.channel, session, message.credit, self._link.send)
        self._channels[message.channel] = channel
        self._tasks.create_task(self._serve(message.channel, channel))

    async def _serve(self, number: int, channel: Channel) -> None:
        await channel.serve()
        del self._channels[number]

    async def _list_models(self, message: ListModels) -> Models:
        return Models(message.call, await self._ready_engine().list_models(message.folders))

    async def _fit_prompt(self, message: FitPrompt) -> Fit:
        return Fit(message.call, await self._ready_engine().fit_prompt(message.request))

    async def _get_status(self, message: GetStatus) -> Status:
        return Status(message.call, await self._ready_engine().status())

    async def _answer(self, call: int, work: Awaitable[Models | Fit | Status]) -> None:
        try:
            await self._link.send(await work)
        except ProblemError as error:
            await self._link.send(CallFailed(call, error.problem))
        except Exception as error:  # the border of the engine: the caller must not wait for ever
            logger.exception("A call failed")
            await self._link.send(CallFailed(call, engine_fault(error)))


def _open_session(engine: Engine, request: Request) -> Session[Any]:
    match request:
        case GenerationRequest():
            return engine.generate(request)
        case ScoreRequest():
            return engine.score(request)
        case LoadRequest():
            return engine.load(request)
        case InstallRequest():
            return engine.install_starter(request)

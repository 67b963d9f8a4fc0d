"""The engine as the app uses it: over the wire, in a process of its own."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from engine.contracts import (
    ENGINE_CLOSED,
    EngineStatus,
    GenerationRequest,
    GenerationResult,
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    ModelDescription,
    Problem,
    ProblemError,
    PromptFit,
    ScoreRequest,
    ScoreResult,
    Unsubscribe,
)
from engine.host import problems
from engine.host.connection import EngineConnection
from engine.host.engine_handle import Launcher
from engine.host.launch import launch_engine
from engine.host.remote_session import RemoteChannel, RemoteSession


class EngineClient:
    """Implements `contracts.Engine`, and brings the engine back when it has died.

    An engine is launched by `start`, or by the first session that is read or the first `list_models` that finds none
    running; what is asked before the handshake waits for it. When the process ends by itself, open sessions fail with
    `engine_stopped` or `engine_cannot_start`, waiting calls raise the same, and then `on_exit` listeners hear it.
    Belongs to one asyncio loop, Qt's included.
    """

    def __init__(self, launch: Launcher = launch_engine) -> None:
        self._launch = launch
        self._connection: EngineConnection | None = None
        self._lives: set[asyncio.Task[None]] = set()
        self._exit_listeners: list[Callable[[Problem], None]] = []
        self._closed = False

    @property
    def engine_pid(self) -> int | None:
        """The engine's process, once it has answered."""
        return self._connection.engine_pid if self._connection is not None else None

    def start(self) -> None:
        """Launch an engine unless one runs. Needs a running loop; a failure is told to `on_exit` listeners."""
        if not self._closed:
            self._usable_connection()

    async def wait_started(self) -> None:
        """Return once the engine answers, launching it if need be; raises `ProblemError` when it cannot start."""
        await self._connection_for_call().wait_started()

    async def restart(self) -> None:
        """End the engine that runs, if any, and launch another. Open sessions are cancelled as `engine_closed`."""
        await self._end_engine()
        self.start()

    def on_exit(self, listener: Callable[[Problem], None]) -> Unsubscribe:
        """Call `listener` each time the engine ended without being asked to."""
        self._exit_listeners.append(listener)
        return lambda: self._forget(listener)

    def generate(self, request: GenerationRequest) -> RemoteSession[GenerationResult]:
        return RemoteSession(request, self._open_channel)

    def score(self, request: ScoreRequest) -> RemoteSession[ScoreResult]:
        return RemoteSession(request, self._open_channel)

    def load(self, request: LoadRequest) -> RemoteSession[LoadResult]:
        return RemoteSession(request, self._open_channel)

    def install_starter(self, request: InstallRequest) -> RemoteSession[InstallResult]:
        return RemoteSession(request, self._open_channel)

    async def list_models(self, folders: Sequence[str] = ()) -> tuple[ModelDescription, ...]:
        """Raises `ProblemError` when the engine cannot answer."""
        return await self._connection_for_call().dialogue.list_models(folders)

    async def fit_prompt(self, request: GenerationRequest) -> PromptFit:
        """Raises `ProblemError` when the engine cannot answer, or the conversation cannot be sent."""
        return await self._connection_for_call().dialogue.fit_prompt(request)

    async def status(self) -> EngineStatus:
        """Launches nothing: without an engine, nothing runs. Raises `ProblemError` when it cannot answer."""
        if self._connection is None or not self._connection.is_usable:
            return EngineStatus()
        return await self._connection.dialogue.status()

    async def aclose(self) -> None:
        """End the engine within two seconds; nothing can be opened any more."""
        self._closed = True
        await self._end_engine()

    def _open_channel(self, session: RemoteSession[Any]) -> RemoteChannel | None:
        if self._closed:
            session.abandon(ENGINE_CLOSED)
            return None
        return self._usable_connection().dialogue.open(session)

    def _connection_for_call(self) -> EngineConnection:
        if self._closed:
            raise ProblemError(problems.engine_closed())
        return self._usable_connection()

    def _usable_connection(self) -> EngineConnection:
        if self._connection is None or not self._connection.is_usable:
            self._connection = EngineConnection(self._launch)
            life = asyncio.get_running_loop().create_task(self._watch(self._connection), name="engine")
            self._lives.add(life)
            life.add_done_callback(self._lives.discard)
        return self._connection

    async def _watch(self, connection: EngineConnection) -> None:
        problem = await connection.live()
        if problem is not None:
            for listener in tuple(self._exit_listeners):
                listener(problem)

    async def _end_engine(self) -> None:
        # Taken before the first await: a session read meanwhile launches the next engine, whose life is not awaited.
        lives = set(self._lives)
        if self._connection is not None:
            await self._connection.close()
        if lives:
            await asyncio.wait(lives)

    def _forget(self, listener: Callable[[Problem], None]) -> None:
        if listener in self._exit_listeners:
            self._exit_listeners.remove(listener)

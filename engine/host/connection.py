"""The life of one engine process, from launch to burial."""

import asyncio
import os
from contextlib import suppress
from typing import Final

from engine.contracts import Problem, ProblemError
from engine.host import problems
from engine.host.dialogue import Dialogue, Phase
from engine.host.engine_handle import REAP_SECONDS, EngineHandle, Launcher, reap
from engine.host.link import Link
from engine.host.messages import WIRE_VERSION, Hello, Shutdown, ToApp, decode_for_app

HANDSHAKE_SECONDS: Final = 30.0
CLOSE_SECONDS: Final = 1.4


class EngineConnection:
    """Launches one engine process and sees it to its end; whoever makes one awaits `live` in a task of its own.

    `dialogue` may be used from the start: what is said before the handshake waits for it. When the process has ended,
    so has everything that was open in the dialogue.
    """

    def __init__(self, launch: Launcher, handshake_seconds: float = HANDSHAKE_SECONDS) -> None:
        self._launch = launch
        self._handshake_seconds = handshake_seconds
        self._link: Link[ToApp] = Link(decode_for_app, self._receive, self._lose)
        self._problem: Problem | None = None
        self._closed_by_app = False
        self._grace_seconds = REAP_SECONDS
        self._start_settled = asyncio.Event()
        self._conversation_over = asyncio.Event()
        self.dialogue = Dialogue(self._link.send_frame_nowait)
        self.engine_pid: int | None = None
        """The process that answered the handshake."""

    @property
    def is_usable(self) -> bool:
        """What is said now reaches the engine, unless it dies."""
        return self.dialogue.phase is not Phase.OVER

    async def live(self) -> Problem | None:
        """The whole life. Returns why the process ended, or None when the app had closed it."""
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
        await self._start_settled.wait()
        if self.engine_pid is None:
            raise ProblemError(self._problem or problems.engine_closed())

    async def close(self) -> None:
        """Ask the engine to end, and wait a while for it; what still runs then, `live` kills."""
        self._closed_by_app = True
        if self.dialogue.phase is Phase.OPEN:
            self.dialogue.send(Shutdown())
            self.dialogue.fall_silent()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._conversation_over.wait(), CLOSE_SECONDS)
                return
        self._give_up()

    async def _converse(self, engine: EngineHandle) -> None:
        """Returns once nothing more will be said."""
        await self._link.attach(engine.sock)
        self._link.send_nowait(Hello(WIRE_VERSION, os.getpid()))
        timer = asyncio.get_running_loop().call_later(self._handshake_seconds, self._expire_handshake)
        await self._conversation_over.wait()
        timer.cancel()

    def _expire_handshake(self) -> None:
        if self.engine_pid is None:
            self._give_up(problems.cannot_start(f"it did not answer within {self._handshake_seconds:g} seconds"))

    def _receive(self, message: ToApp) -> None:
        if isinstance(message, Hello):
            self._greet(message)
        else:
            self.dialogue.receive(message)

    def _greet(self, hello: Hello) -> None:
        if hello.version != WIRE_VERSION:
            self._give_up(problems.other_version(engine=hello.version, app=WIRE_VERSION))
        elif self.dialogue.phase is Phase.WAITING:
            self.engine_pid = hello.pid
            self.dialogue.begin()
            self._start_settled.set()

    def _lose(self, error: Exception | None) -> None:
        if error is not None and not isinstance(error, OSError):
            self._give_up(problems.unreadable())
        self.dialogue.fall_silent()
        self._conversation_over.set()

    def _give_up(self, problem: Problem | None = None) -> None:
        """Stop talking; the process gets no time to end by itself."""
        self._problem = self._problem or problem
        self._grace_seconds = 0.0
        self.dialogue.fall_silent()
        self._conversation_over.set()
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
        self._problem = problem
        self.dialogue.end(problem)
        self._start_settled.set()
        return problem

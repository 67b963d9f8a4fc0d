"""Both ends of the wire in one process."""

import asyncio
import socket
from collections.abc import Callable

from engine.contracts import Engine
from engine.host.server import EngineServer


class LoopbackEngine:
    """An engine "process" that is a task on the same loop; implements `EngineHandle`."""

    def __init__(self, build: Callable[[], Engine]) -> None:
        self.sock, self._theirs = socket.socketpair()
        self.server = EngineServer(build)
        self.task = asyncio.get_running_loop().create_task(self.server.serve(self._theirs))

    def poll(self) -> int | None:
        return 0 if self.task.done() else None

    def kill(self) -> None:
        self.task.cancel()

    def last_words(self) -> str:
        return ""

    def close(self) -> None:
        pass


class Loopback:
    """Launches loopback engines and keeps them for the test to look at."""

    def __init__(self, build: Callable[[], Engine]) -> None:
        self.launched: list[LoopbackEngine] = []
        self._build = build

    def __call__(self) -> LoopbackEngine:
        self.launched.append(LoopbackEngine(self._build))
        return self.launched[-1]

"""An engine process as the app holds it."""

import asyncio
import socket
from collections.abc import Callable
from typing import Final, Protocol

REAP_SECONDS: Final = 0.4
"""So long a process whose end of the wire has closed may take to exit by itself."""
_LOOK_SECONDS: Final = 0.01


class EngineHandle(Protocol):
    """A started process; whoever started it sees to its end. No call blocks."""

    @property
    def sock(self) -> socket.socket:
        """The app's end of the wire, for one connection to take over."""

    def poll(self) -> int | None:
        """The exit code, negative for a signal, or None while it runs. Reaps the process."""

    def kill(self) -> None:
        """End it at once."""

    def last_words(self) -> str:
        """The last line on its standard error; may be empty."""

    def close(self) -> None:
        """Free what is left once the process has ended."""


Launcher = Callable[[], EngineHandle]
"""Starts an engine process; raises OSError when that is impossible."""


async def reap(engine: EngineHandle, grace_seconds: float) -> int | None:
    """The exit code of a process that is about to end; killed when it does not. None: not even that helped in time."""
    if not await _ends_within(engine, grace_seconds):
        engine.kill()
        await _ends_within(engine, REAP_SECONDS)
    return engine.poll()


async def _ends_within(engine: EngineHandle, seconds: float) -> bool:
    """Looks again and again: Qt's loop cannot watch child processes, and the end is milliseconds away."""
    for _ in range(round(seconds / _LOOK_SECONDS)):
        if engine.poll() is not None:
            return True
        await asyncio.sleep(_LOOK_SECONDS)
    return False

"""An engine process as the app holds it."""

import socket
from collections.abc import Callable
from typing import Protocol


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

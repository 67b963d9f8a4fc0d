"""Unix signals as calls on the app's loop."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIT_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextmanager
def calling_on(signals: tuple[signal.Signals, ...], call: Callable[[], object]) -> Iterator[None]:
    """While the block runs, each of `signals` calls `call` on the running loop.

    Python's handlers run only between bytecodes, and none runs while Qt waits for events: the wake-up socket does
    what a loop of asyncio's own would do.
    """
    reading, writing = socket.socketpair()
    reading.setblocking(False)
    writing.setblocking(False)
    loop = asyncio.get_running_loop()

    def arrived() -> None:
        if signals_of(reading.recv(4096)) & set(signals):
            call()

    previous = {number: signal.signal(number, _nothing) for number in signals}
    previous_descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    loop.add_reader(reading, arrived)
    try:
        yield
    finally:
        loop.remove_reader(reading)
        signal.set_wakeup_fd(previous_descriptor)
        for number, handler in previous.items():
            signal.signal(number, handler)
        reading.close()
        writing.close()


def signals_of(received: bytes) -> set[int]:
    """Python writes each signal's number as one byte."""
    return set(received)


def _nothing(number: int, frame: object) -> None:
    """Installed so that the default action, which kills, does not happen."""

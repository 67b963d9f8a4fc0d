"""The engine's own clock, on the asyncio loop that runs."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from engine.contracts import Timer

_MS_PER_SECOND: Final = 1000.0


class LoopTimer:
    """One pending call of an asyncio loop."""

    __slots__ = ("_handle",)

    def __init__(self, handle: asyncio.TimerHandle) -> None:
        self._handle = handle

    def stop(self) -> None:
        self._handle.cancel()


class AsyncioClock:
    """The system's monotonic clock; its timers fire on the loop that armed them."""

    def now_ms(self) -> float:
        return time.monotonic() * _MS_PER_SECOND

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return LoopTimer(asyncio.get_running_loop().call_later(delay_ms / _MS_PER_SECOND, callback))

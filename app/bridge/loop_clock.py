"""The running loop's time as the contracts' clock."""

import asyncio
import time
from collections.abc import Callable


class LoopTimer:
    """One pending call on the loop."""

    def __init__(self, handle: asyncio.TimerHandle) -> None:
        self._handle = handle

    def stop(self) -> None:
        self._handle.cancel()


class LoopClock:
    """Milliseconds of the system's monotonic clock."""

    def now_ms(self) -> float:
        return time.monotonic() * 1000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> LoopTimer:
        return LoopTimer(asyncio.get_running_loop().call_later(delay_ms / 1000, callback))

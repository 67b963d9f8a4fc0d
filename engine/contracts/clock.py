"""Time as the engine sees it, so that tests can own it."""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """One pending call. Whoever armed it owns it."""

    def stop(self) -> None:
        """Make sure the call does not happen any more; stopping again, or after it ran, does nothing."""


class Clock(Protocol):
    """A monotonic clock in milliseconds with one-shot timers that fire on the engine's loop."""

    def now_ms(self) -> float:
        """Milliseconds since an arbitrary fixed moment; never goes backwards."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` once after `delay_ms` milliseconds, unless the returned timer is stopped first."""

"""A clock that moves when the test says so."""

from collections.abc import Callable

from engine.contracts import Timer


class ManualTimer:
    """One pending call."""

    def __init__(self, due_ms: float, callback: Callable[[], None]) -> None:
        self.due_ms = due_ms
        self.callback = callback
        self.stopped = False

    def stop(self) -> None:
        self.stopped = True


class ManualClock:
    """Implements `Clock`."""

    def __init__(self) -> None:
        self._now_ms = 0.0
        self._timers: list[ManualTimer] = []

    def now_ms(self) -> float:
        return self._now_ms

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = ManualTimer(self._now_ms + delay_ms, callback)
        self._timers.append(timer)
        return timer

    def advance(self, milliseconds: float) -> None:
        """Let time pass; what falls due runs in order."""
        end = self._now_ms + milliseconds
        while due := [timer for timer in self._timers if not timer.stopped and timer.due_ms <= end]:
            timer = min(due, key=lambda each: each.due_ms)
            self._timers.remove(timer)
            self._now_ms = timer.due_ms
            timer.callback()
        self._now_ms = end

    @property
    def pending(self) -> int:
        return sum(not timer.stopped for timer in self._timers)

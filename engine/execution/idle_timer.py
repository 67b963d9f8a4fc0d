"""The time a reader may stay away."""

from collections.abc import Callable

from engine.contracts import Clock, Timer


class IdleTimer:
    """Calls `on_idle` when it was last started `timeout_ms` ago. Without a timeout it never does."""

    def __init__(self, clock: Clock, timeout_ms: float | None, on_idle: Callable[[], None]) -> None:
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._on_idle = on_idle
        self._timer: Timer | None = None
        self._ended = False

    def restart(self) -> None:
        """Give the reader the whole time again."""
        if self._timeout_ms is None:
            return
        self.stop()
        if not self._ended:
            self._timer = self._clock.call_later(self._timeout_ms, self._on_idle)

    def stop(self) -> None:
        """The reader is here."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.stop()

    def end(self) -> None:
        """Stop, and never start again."""
        self._ended = True
        self.stop()

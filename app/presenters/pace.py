"""How fast an answer arrives."""

from app.presenters.phases import Answering, rate_of
from engine.contracts import Clock


class Pace:
    """Counts tokens against the clock from the moment it is made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked_ms = clock.now_ms()
        self._first_ms = self._last_ms = self._asked_ms
        self.tokens = 0

    def add(self, tokens: int) -> None:
        """`tokens` have just arrived."""
        self._last_ms = self._clock.now_ms()
        if self.tokens == 0:
            self._first_ms = self._last_ms
        self.tokens += tokens

    @property
    def tokens_per_second(self) -> float | None:
        return rate_of(self.tokens, (self._last_ms - self._first_ms) / 1000)

    def phase(self) -> Answering:
        return Answering(self.tokens_per_second, (self._first_ms - self._asked_ms) / 1000)

"""How many prompt tokens one unit reads, so that it stays short."""

from typing import Final

SMALLEST: Final = 32
SMALLEST_BESIDE: Final = 16
"""Beside rows that decode: with 32, three rows on a CPU waited for more than three of their ordinary steps."""
LARGEST: Final = 2048
UNIT_MS: Final = 100.0
"""What a unit should take. A Stop takes effect, and other rows go on, within one unit."""
_MAX_CHANGE: Final = 2
"""One measurement, perhaps of an empty cache or a busy machine, must not change the next unit beyond measure."""


class ChunkSize:
    """Learns from every unit how much the next may read; belongs to one model on one machine.

    It begins small: a fast machine finds its size in a few units, a slow one must not stall for seconds first.
    """

    def __init__(self, tokens: int = 2 * SMALLEST, smallest: int = SMALLEST) -> None:
        self._tokens = tokens
        self._smallest = smallest

    @property
    def tokens(self) -> int:
        """At most so many tokens in the next unit; a multiple of the smallest size."""
        return self._tokens

    def learn(self, tokens: int, elapsed_ms: float, target_ms: float = UNIT_MS) -> None:
        """One unit read `tokens` in `elapsed_ms`, and should have taken `target_ms`.

        The few tokens at a prompt's end cost nearly what many do: they say nothing, unless they took too long.
        """
        if tokens < self._smallest or (tokens < self._tokens and elapsed_ms <= target_ms):
            return
        fitting = int(tokens * target_ms / elapsed_ms) if elapsed_ms > 0 else LARGEST
        bounded = max(self._tokens // _MAX_CHANGE, min(fitting, self._tokens * _MAX_CHANGE))
        self._tokens = max(self._smallest, min(LARGEST, bounded // self._smallest * self._smallest))

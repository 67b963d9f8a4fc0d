"""How many prompt tokens one unit reads, so that it stays short."""

from typing import Final

SMALLEST: Final = 32
LARGEST: Final = 2048
TARGET_MS: Final = 100.0
_MAX_GROWTH: Final = 2
"""A single measurement, perhaps of an empty cache, must not lead to a unit of seconds."""


class ChunkSize:
    """Learns from every chunk read how large the next may be; belongs to one model on one machine."""

    def __init__(self, tokens: int = 256) -> None:
        self._tokens = tokens

    @property
    def tokens(self) -> int:
        """At most this many tokens in the next unit; a multiple of 32."""
        return self._tokens

    def learn(self, tokens: int, elapsed_ms: float) -> None:
        """One unit read `tokens` in `elapsed_ms`. A unit that was not full says little about a larger one."""
        fitting = int(tokens * TARGET_MS / elapsed_ms) if elapsed_ms > 0 else LARGEST
        if tokens < self._tokens:
            fitting = min(fitting, self._tokens)
        rounded = fitting // SMALLEST * SMALLEST
        self._tokens = max(SMALLEST, min(LARGEST, self._tokens * _MAX_GROWTH, rounded))

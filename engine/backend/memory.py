"""Decides whether there is memory for a row, before any of it is taken."""

from collections.abc import Sequence

import mlx.core as mx

from engine.backend.device import device_limit_bytes
from engine.backend.footprint import Footprint
from engine.backend.loading import LoadedModel
from engine.backend.problems import memory_short


class KvMemory:
    """The bytes one group may use for its rows: the limit less what was in use when the group was made."""

    def __init__(self, loaded: LoadedModel, limit: int | None) -> None:
        self._footprint = Footprint.of(loaded)
        self._limit = device_limit_bytes() if limit is None else limit
        self._available = max(0, self._limit - max(mx.get_active_memory(), loaded.weight_bytes))

    def spare(self, lengths: Sequence[int]) -> int:
        """Bytes left beside rows of `lengths` tokens; negative when they do not fit."""
        return self._available - self._footprint.batch_bytes(list(lengths))

    def check(self, lengths: Sequence[int], joining: int) -> None:
        """Raise `ProblemError` (`memory_short`) unless a row of `joining` tokens fits beside rows of `lengths`.

        The problem names the bytes needed, free and allowed in all, with the longest row that fits.
        """
        if self.spare([*lengths, joining]) < 0:
            needed = self._footprint.batch_bytes([*lengths, joining])
            longest = self._footprint.longest(len(lengths) + 1, self._available)
            free = self.spare(lengths)
            raise memory_short(needed - (self._available - free), free, self._limit, longest)

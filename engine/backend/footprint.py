"""How many bytes of KV cache a row needs, foretold without computing anything."""

from typing import Any, NamedTuple

import mlx.core as mx

from engine.backend.cache_kinds import Cache, create_caches, parts_of
from engine.backend.loading import LoadedModel

BLOCK = 256
"""Caches grow by so many tokens at a time."""


class LayerFootprint(NamedTuple):
    """One cache: bytes whatever the length, bytes per token, and the most tokens it ever holds (None: no end)."""

    fixed: int
    per_token: int
    most_tokens: int | None


class Footprint(NamedTuple):
    """A model's caches."""

    layers: tuple[LayerFootprint, ...]

    @classmethod
    def of(cls, loaded: LoadedModel) -> "Footprint":
        """Trace one token through the model: arrays know their shapes before anything is evaluated."""
        caches = create_caches(loaded.model)
        network: Any = loaded.model
        network(mx.zeros((1, 1), dtype=mx.uint32), cache=caches)
        return cls(tuple(_layer(part) for part in parts_of(caches)))

    def row_bytes(self, tokens: int) -> int:
        """Bytes of one row of `tokens`, rounded up to whole blocks."""
        held = -(-tokens // BLOCK) * BLOCK
        return sum(layer.fixed + layer.per_token * min(held, layer.most_tokens or held) for layer in self.layers)

    def batch_bytes(self, lengths: list[int]) -> int:
        """Bytes that rows of `lengths` tokens need together.

        All are as long as the longest, and a row that joins or leaves copies the batch once: twice as much.
        """
        return 2 * len(lengths) * self.row_bytes(max(lengths, default=0))

    def longest(self, rows: int, available: int) -> int:
        """The most tokens, a multiple of the block, that `rows` rows may have in `available` bytes; 0 for none."""
        low, high = 0, 1 << 20
        while low < high:
            middle = (low + high + 1) // 2
            if self.batch_bytes([middle * BLOCK] * rows) <= available:
                low = middle
            else:
                high = middle - 1
        return low * BLOCK


def _layer(cache: Cache) -> LayerFootprint:
    if getattr(cache, "keys", None) is None:
        return LayerFootprint(cache.nbytes, 0, None)
    per_token = cache.nbytes // cache.keys.shape[-2]
    most = getattr(cache, "max_size", None) or getattr(cache, "chunk_size", None)
    return LayerFootprint(0, per_token, most)

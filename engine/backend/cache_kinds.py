"""What can be done with each of mlx-lm's cache classes."""

from collections.abc import Sequence
from typing import Any, Final

from mlx.nn.layers.base import Module

from engine.sampling.mlx_lm_parts import import_part

_mlx_lm = import_part("models.cache")

Cache = Any
"""One layer's cache, of one of mlx-lm's classes."""

_MERGEABLE: Final = (_mlx_lm.KVCache, _mlx_lm.RotatingKVCache, _mlx_lm.ArraysCache)
_ALWAYS_CUT: Final = (_mlx_lm.KVCache, _mlx_lm.QuantizedKVCache, _mlx_lm.ConcatenateKVCache)
_SAVEABLE: Final = frozenset(
    {"KVCache", "RotatingKVCache", "ArraysCache", "CacheList", "ChunkedKVCache", "QuantizedKVCache"}
)


def create_caches(model: Module) -> list[Cache]:
    """Empty caches of one row, one for each layer that has any."""
    caches: list[Cache] = _mlx_lm.make_prompt_cache(model)
    return caches


def cache_class(name: str) -> Cache:
    """mlx-lm's class of that name; raises ValueError for anything else, whatever a file may say."""
    if name not in _SAVEABLE:
        raise ValueError("not a class of caches")
    return getattr(_mlx_lm, name)


def can_merge(caches: Sequence[Cache]) -> bool:
    """Whether rows with such caches can be one batch.

    Only mlx-lm's own classes: a subclass may hold more than merging knows of. A kept head would be lost.
    """
    return all(type(part) in _MERGEABLE and not getattr(part, "keep", 0) for part in parts_of(caches))


def can_cut(caches: Sequence[Cache]) -> bool:
    """Whether the last tokens can be taken out of these caches now. One that dropped its front has not enough left."""
    return all(part.is_trimmable() and not getattr(part, "start_position", 0) for part in parts_of(caches))


def can_always_cut(caches: Sequence[Cache]) -> bool:
    """Whether `can_cut` holds however long they grow."""
    return all(type(part) in _ALWAYS_CUT for part in parts_of(caches))


def cut(caches: Sequence[Cache], tokens: int) -> None:
    """Take the last `tokens` out, in place."""
    for cache in caches:
        if cache.trim(tokens) != tokens:
            raise ValueError(f"a {type(cache).__name__} could not give up {tokens} tokens")


def parts_of(caches: Sequence[Cache]) -> list[Cache]:
    """The caches themselves, where some are lists of several."""
    parts: list[Cache] = []
    for cache in caches:
        parts.extend(parts_of(cache.caches) if type(cache) is _mlx_lm.CacheList else [cache])
    return parts

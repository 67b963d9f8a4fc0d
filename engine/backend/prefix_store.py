"""Keeps the caches of rows that are done, for prompts that begin with the same tokens."""

import copy
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.backend.cache_kinds import Cache, can_cut, cut

_ID_BYTES: Final = array("I").itemsize


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    key: bytes
    caches: list[Cache]
    size: int

    @property
    def tokens(self) -> int:
        return len(self.key) // _ID_BYTES

    @property
    def can_be_cut(self) -> bool:
        return can_cut(self.caches)

    def usable(self, key: bytes, limit: int) -> int:
        """How many leading tokens of `key`, up to `limit`, this entry stands for."""
        common = _common_tokens(self.key, key)
        if self.can_be_cut:
            return min(common, limit)
        return self.tokens if common == self.tokens <= limit else 0


class PrefixStore:
    """Least recently used entries go first once their bytes exceed the cap. Belongs to the engine's thread.

    Entries are never changed: who takes one gets copies that share the arrays until they are written to.
    """

    def __init__(self, cap_bytes: int) -> None:
        self._cap_bytes = cap_bytes
        self._entries: list[_Entry] = []
        """The least recently used first."""

    @property
    def size(self) -> int:
        """Bytes held."""
        return sum(entry.size for entry in self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, ids: Sequence[int], caches: list[Cache]) -> None:
        """Keep `caches`, which hold exactly `ids`; the caller gives them away.

        An entry that alone exceeds the cap is not kept. One that a longer entry stands for is dropped.
        """
        entry = _Entry(_packed(ids), caches, sum(cache.nbytes for cache in caches))
        if len(ids) == 0 or entry.size > self._cap_bytes:
            return
        for other in self._entries:
            if other.usable(entry.key, len(ids)) == len(ids):
                self._refresh(other)
                return
        if entry.can_be_cut:
            self._entries = [other for other in self._entries if not entry.key.startswith(other.key)]
        self._entries.append(entry)
        self.shrink_to(self._cap_bytes)

    def take(self, ids: Sequence[int], limit: int) -> tuple[list[Cache], int]:
        """Caches for the longest stored prefix of `ids`, of `limit` tokens at most, with its length; or ([], 0)."""
        key = _packed(ids)
        best, length = None, 0
        for entry in self._entries:
            usable = entry.usable(key, limit)
            if usable > length:
                best, length = entry, usable
        if best is None:
            return [], 0
        self._refresh(best)
        caches = copy.deepcopy(best.caches)
        if (surplus := best.tokens - length) > 0:
            cut(caches, surplus)
        return caches, length

    def shrink_to(self, size: int) -> None:
        """Drop entries until at most `size` bytes are held."""
        while self.size > size:
            del self._entries[0]

    def _refresh(self, entry: _Entry) -> None:
        self._entries.remove(entry)
        self._entries.append(entry)


def _packed(ids: Sequence[int]) -> bytes:
    return array("I", ids).tobytes()


def _common_tokens(first: bytes, second: bytes) -> int:
    """By bisection over memory comparisons: a store of long chats is searched for every message."""
    low, high = 0, min(len(first), len(second)) // _ID_BYTES
    while low < high:
        middle = (low + high + 1) // 2
        part = slice(low * _ID_BYTES, middle * _ID_BYTES)
        if first[part] == second[part]:
            low = middle
        else:
            high = middle - 1
    return low

"""Distinct values listed once, referred to by place."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Generic, TypeVar

import msgspec

from app.chats.columns import IntColumn, pack_ints, unpack_ints

T = TypeVar("T")

Entry = tuple[int, bytes]
"""A token's id with its bytes."""


class Places(Generic[T]):
    """Gives each distinct value its place in a list."""

    def __init__(self) -> None:
        self._places: dict[T, int] = {}

    def of(self, value: T) -> int:
        return self._places.setdefault(value, len(self._places))

    def values(self) -> list[T]:
        return list(self._places)


class Vocabulary(msgspec.Struct, array_like=True):
    """The entries of one record as columns."""

    ids: IntColumn
    lengths: IntColumn
    joined: bytes


def pack_vocabulary(entries: Sequence[Entry]) -> Vocabulary:
    return Vocabulary(
        pack_ints([id_ for id_, _ in entries]),
        pack_ints([len(data) for _, data in entries]),
        b"".join(data for _, data in entries),
    )


def unpack_vocabulary(stored: Vocabulary) -> list[Entry]:
    lengths = unpack_ints(stored.lengths)
    ends = accumulate(lengths)
    data = [stored.joined[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return list(zip(unpack_ints(stored.ids), data, strict=True))

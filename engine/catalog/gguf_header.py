"""The header of a GGUF file, read with every count, length and offset checked against the file's size.

The format is https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; versions 2 and 3, little-endian.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.catalog.problems import damaged, unsupported
from engine.catalog.tensor_kinds import TensorKind

Scalar = int | float | bool | str
Value = Scalar | list[Scalar]

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_DEFAULT_ALIGNMENT: Final = 32
_MAX_KEY_BYTES: Final = 65_535
_MAX_DIMENSIONS: Final = 4
_MAX_LIST_ITEMS: Final = 4_000_000
"""In all lists together: vocabularies and their merges stay far below it, and it bounds the memory they take."""
_SMALLEST_ENTRY_BYTES: Final = 12
"""A string length and a type: no key or tensor takes less, so it bounds every count."""

_SCALARS: Final[Mapping[int, str]] = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_BOOL: Final = 7
_STRING: Final = 8
_ARRAY: Final = 9


@dataclass(frozen=True)
class TensorEntry:
    """Where one tensor lies in the file. `shape` is row-major, as MLX and NumPy have it: GGUF's order reversed."""

    name: str
    kind: TensorKind
    shape: tuple[int, ...]
    offset: int
    """Bytes from the start of the file."""

    @property
    def byte_count(self) -> int:
        """Bytes of the tensor in the file."""
        return self.kind.byte_count(math.prod(self.shape))


@dataclass(frozen=True)
class GgufHeader:
    """What a GGUF file says about itself: metadata by key, tensors by name."""

    metadata: Mapping[str, Value]
    tensors: Mapping[str, TensorEntry]


def read_header(path: Path) -> GgufHeader:
    """Read the header of the file at `path`. Tensors are not touched, but each lies wholly within the file.

    Raises ProblemError (`model_damaged`, `model_unsupported`) for whatever is not such a file, OSError when unreadable.
    """
    size = path.stat().st_size
    if size < len(_MAGIC) + 20:
        raise damaged(path, "it is too short to be a GGUF file")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return _Reader(content, path).header()


class _Reader:
    """A cursor over the file. Every step says how many bytes it needs before it takes them."""

    def __init__(self, content: mmap.mmap, path: Path) -> None:
        self._content = content
        self._path = path
        self._size = len(content)
        self._at = 0
        self._items_left = _MAX_LIST_ITEMS

    def header(self) -> GgufHeader:
        if self._take(len(_MAGIC)) != _MAGIC:
            raise damaged(self._path, "it does not begin like a GGUF file")
        version = self._uint32()
        if version not in _VERSIONS:
            raise unsupported(self._path, f"GGUF version {version}")
        tensor_count = self._count(_SMALLEST_ENTRY_BYTES)
        metadata = self._metadata(self._count(_SMALLEST_ENTRY_BYTES))
        entries = [self._tensor() for _ in range(tensor_count)]
        start = _round_up(self._at, self._alignment(metadata))
        return GgufHeader(metadata, self._placed(entries, start))

    def _metadata(self, count: int) -> dict[str, Value]:
        metadata: dict[str, Value] = {}
        for _ in range(count):
            key = self._string(_MAX_KEY_BYTES)
            if key in metadata:
                raise damaged(self._path, f"it gives {key} twice")
            metadata[key] = self._value(self._uint32())
        return metadata

    def _alignment(self, metadata: Mapping[str, Value]) -> int:
        alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or alignment <= 0 or alignment % 8 or alignment > self._size:
            raise damaged(self._path, "its alignment makes no sense")
        return alignment

    def _tensor(self) -> TensorEntry:
        name = self._string(_MAX_KEY_BYTES)
        dimensions = self._uint32()
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise damaged(self._path, f"tensor {name} has {dimensions} dimensions")
        shape = tuple(reversed(struct.unpack(f"<{dimensions}Q", self._take(8 * dimensions))))
        kind = TensorKind.from_number(self._uint32())
        if kind is None:
            raise unsupported(self._path, f"the number format of tensor {name}")
        if 0 in shape or shape[-1] % kind.block_weights:
            raise damaged(self._path, f"tensor {name} has an impossible shape")
        (offset,) = struct.unpack("<Q", self._take(8))
        return TensorEntry(name, kind, shape, offset)

    def _placed(self, entries: list[TensorEntry], start: int) -> dict[str, TensorEntry]:
        """Turn offsets within the tensor section, which begins at `start`, into offsets within the file."""
        placed: dict[str, TensorEntry] = {}
        for entry in entries:
            offset = start + entry.offset
            if entry.name in placed:
                raise damaged(self._path, f"it holds tensor {entry.name} twice")
            if offset + entry.byte_count > self._size:
                raise damaged(self._path, f"it ends before tensor {entry.name} does")
            placed[entry.name] = TensorEntry(entry.name, entry.kind, entry.shape, offset)
        return placed

    def _value(self, kind: int) -> Value:
        if kind != _ARRAY:
            return self._scalars(kind, 1)[0]
        item_kind = self._uint32()
        (count,) = struct.unpack("<Q", self._take(8))
        if count > self._items_left:
            raise damaged(self._path, f"it announces a list of {count} values")
        self._items_left -= count
        return self._scalars(item_kind, count)

    def _scalars(self, kind: int, count: int) -> list[Scalar]:
        if kind == _STRING:
            return [self._string(self._size) for _ in range(count)]
        if kind == _BOOL:
            return [byte != 0 for byte in self._take(count)]
        code = _SCALARS.get(kind)
        if code is None:
            raise damaged(self._path, f"it holds a value of unknown kind {kind}")
        return list(struct.unpack(f"<{count}{code}", self._take(count * struct.calcsize("<" + code))))

    def _string(self, limit: int) -> str:
        (length,) = struct.unpack("<Q", self._take(8))
        if length > limit:
            raise damaged(self._path, f"it announces a text of {length} bytes")
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise damaged(self._path, "one of its texts is not UTF-8") from None

    def _count(self, smallest_bytes: int) -> int:
        """A number of things to follow, each of which takes at least `smallest_bytes`."""
        (count,) = struct.unpack("<Q", self._take(8))
        if count * smallest_bytes > self._size:
            raise damaged(self._path, f"it announces {count} entries")
        return int(count)

    def _uint32(self) -> int:
        return int.from_bytes(self._take(4), "little")

    def _take(self, count: int) -> bytes:
        if count > self._size - self._at:
            raise damaged(self._path, "it ends in the middle of its header")
        self._at += count
        return self._content[self._at - count : self._at]


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step

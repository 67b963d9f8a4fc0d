"""safetensors files, written one tensor at a time and described without reading weights.

The format is https://huggingface.co/docs/safetensors: a length, a JSON header, then the tensors' bytes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

_ALIGNMENT: Final = 8
_LENGTH_BYTES: Final = 8
_MAX_HEADER_BYTES: Final = 100_000_000
"""The format's own limit."""
_LFS_POINTER: Final = b"version https://git-lfs"


class NotSafetensorsError(Exception):
    """A file is not what its name promises; the text completes "cannot be used: ..."."""


@dataclass(frozen=True)
class TensorLayout:
    """One tensor as a header announces it. `dtype` is the format's own name (`F32`, `F16`, `BF16`, `U32`)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    byte_count: int


def encode(layouts: Sequence[TensorLayout], contents: Iterable[memoryview]) -> Iterator[bytes | memoryview]:
    """The pieces of a file that holds `layouts` in order; `contents` yields each tensor's bytes when its turn comes."""
    yield _header(layouts)
    for layout, content in zip(layouts, contents, strict=True):
        if content.nbytes != layout.byte_count:
            raise ValueError(f"{layout.name} has {content.nbytes} bytes, announced were {layout.byte_count}")
        yield content


def _header(layouts: Sequence[TensorLayout]) -> bytes:
    entries: dict[str, Mapping[str, object]] = {"__metadata__": {"format": "mlx"}}
    offset = 0
    for layout in layouts:
        end = offset + layout.byte_count
        entries[layout.name] = {"dtype": layout.dtype, "shape": layout.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text


class _Announced(msgspec.Struct, frozen=True):
    data_offsets: tuple[int, int]


def weight_bytes(path: Path) -> int:
    """Bytes of weights in the file at `path`, from its header alone.

    Raises NotSafetensorsError for anything but a whole file, OSError for one that cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_LENGTH_BYTES)
        if (start + file.read(len(_LFS_POINTER))).startswith(_LFS_POINTER):
            raise NotSafetensorsError("it is a Git LFS pointer, not the weights themselves")
        length = int.from_bytes(start, "little")
        if length > min(size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
            raise NotSafetensorsError("it is not a safetensors file, or it was cut short")
        file.seek(_LENGTH_BYTES)
        end = _end_of_weights(file.read(length))
    if _LENGTH_BYTES + length + end > size:
        raise NotSafetensorsError("it ends before its weights do")
    return end


def _end_of_weights(header: bytes) -> int:
    try:
        entries = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
        entries.pop("__metadata__", None)
        offsets = [msgspec.json.decode(entry, type=_Announced).data_offsets for entry in entries.values()]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotSafetensorsError("its header makes no sense") from None
    if any(not 0 <= start <= end for start, end in offsets):
        raise NotSafetensorsError("its header makes no sense")
    return max((end for _, end in offsets), default=0)

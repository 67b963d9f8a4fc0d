"""safetensors files, written one tensor at a time and described without reading weights.

The format is https://huggingface.co/docs/safetensors: a length, a JSON header, then the tensors' bytes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_ALIGNMENT: Final = 8


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
    return len(text).to_bytes(8, "little") + text

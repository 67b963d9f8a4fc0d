"""The weight files of a model folder, checked before any of them is mapped.

The format is https://huggingface.co/docs/safetensors: a length, a JSON header, then the tensors' bytes.
"""

import json
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from engine.backend.problems import blamed_on, model_damaged, model_missing

_INDEX: Final = "model.safetensors.index.json"
_LENGTH_BYTES: Final = 8
_MAX_HEADER_BYTES: Final = 100_000_000
"""The format's own limit."""


class WeightFile(NamedTuple):
    """What the header of a file announces."""

    tensor_bytes: int
    tensor_count: int


def find_weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files of the model, all of them present.

    Raises `ProblemError`: `model_missing` without any file or when the index names one that is not there,
    `model_damaged` when the index cannot be read.
    """
    index = folder / _INDEX
    files = _named_by(index) if index.exists() else tuple(sorted(folder.glob("model*.safetensors")))
    if not files:
        raise model_missing(folder / "model.safetensors")
    for file in files:
        if not file.is_file():
            raise model_missing(file)
    return files


def check_weight_file(file: Path) -> WeightFile:
    """The file's tensors, from its header. Raises `ProblemError` (`model_damaged`) if it is not whole."""
    with blamed_on(file, "it cannot be read"), file.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        if size < _LENGTH_BYTES or length > min(size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
            raise model_damaged(file, "its header is cut off")
        announced = _announced(stream.read(length))
        expected = _LENGTH_BYTES + length + announced.tensor_bytes
    if size != expected:
        raise model_damaged(file, f"it has {size:,} bytes instead of {expected:,}")
    return announced


def _named_by(index: Path) -> tuple[Path, ...]:
    with blamed_on(index, "it does not list the weights"):
        names = set(json.loads(index.read_bytes())["weight_map"].values())
    if not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise model_damaged(index, "it names files outside the folder")
    return tuple(sorted(index.parent / name for name in names))


def _announced(header: bytes) -> WeightFile:
    entries: dict[str, Any] = json.loads(header)
    ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
    return WeightFile(max(ends, default=0), len(ends))

"""The weight files of a model folder, checked before any of them is mapped.

The format is https://huggingface.co/docs/safetensors: a length, a JSON header, then the tensors' bytes.
"""

import json
from pathlib import Path
from typing import Final

from engine.backend.problems import model_damaged, model_missing

_INDEX: Final = "model.safetensors.index.json"
_LENGTH_BYTES: Final = 8
_MAX_HEADER_BYTES: Final = 100_000_000
"""The format's own limit."""


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


def check_weight_file(file: Path) -> int:
    """The bytes of the file's tensors, from its header. Raises `ProblemError` (`model_damaged`) if it is not whole."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
        if size < _LENGTH_BYTES or length > min(size - _LENGTH_BYTES, _MAX_HEADER_BYTES):
            raise model_damaged(file, "its header is cut off")
        header = stream.read(length)
    tensor_bytes = _end_of_tensors(file, header)
    expected = _LENGTH_BYTES + length + tensor_bytes
    if size != expected:
        raise model_damaged(file, f"it has {size:,} bytes instead of {expected:,}")
    return tensor_bytes


def _named_by(index: Path) -> tuple[Path, ...]:
    try:
        names = set(json.loads(index.read_bytes())["weight_map"].values())
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise model_damaged(index, "it does not list the weights") from error
    if not all(isinstance(name, str) and Path(name).name == name for name in names):
        raise model_damaged(index, "it names files outside the folder")
    return tuple(sorted(index.parent / name for name in names))


def _end_of_tensors(file: Path, header: bytes) -> int:
    try:
        entries = json.loads(header)
        ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise model_damaged(file, "its header cannot be read") from error
    return max(ends, default=0)

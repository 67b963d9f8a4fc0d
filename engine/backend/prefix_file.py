"""Keeps the caches of one conversation in a file, from one run of the program to the next."""

import json
import logging
import os
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten

from engine.backend.cache_kinds import Cache, cache_class
from engine.backend.weight_files import check_weight_file
from engine.contracts import ProblemError

_LOG = logging.getLogger(__name__)
_VERSION: Final = "1"
_IDS: Final = "ids"


def save_prefix(file: Path, model: str, ids: Sequence[int], caches: Sequence[Cache]) -> None:
    """Write `caches`, which hold exactly `ids`, in one step that leaves no half file; only the owner may read it.

    `model` is the fingerprint without which the numbers mean nothing. Raises OSError when the disk refuses.
    """
    leaves: Any = tree_flatten([cache.state for cache in caches])
    arrays = {name: leaf for name, leaf in leaves if isinstance(leaf, mx.array)}
    arrays[_IDS] = mx.array(list(ids), dtype=mx.uint32)
    metadata = {
        "version": _VERSION,
        "model": model,
        "classes": json.dumps([type(cache).__name__ for cache in caches]),
        "plain": json.dumps({name: leaf for name, leaf in leaves if not isinstance(leaf, mx.array)}),
        "checksum": str(_checksum(arrays)),
    }
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}-", suffix=".safetensors")
    os.close(descriptor)
    unfinished = Path(name)
    try:
        mx.save_safetensors(name, arrays, metadata)
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def load_prefix(file: Path, model: str) -> tuple[list[int], list[Cache]] | None:
    """What was saved, or None: for no file, another model's or version's, and (with a line in the log) damage."""
    if not file.is_file():
        return None
    try:
        return _load(file, model)
    except (ProblemError, OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
        _LOG.warning("Ignored the damaged cache file %s: %s", file.name, type(error).__name__)
        return None


def _load(file: Path, model: str) -> tuple[list[int], list[Cache]] | None:
    # mx.load maps the file: reading past the end of a short one would be a crash, not an error.
    check_weight_file(file)
    loaded: Any = mx.load(str(file), return_metadata=True)
    arrays, metadata = loaded
    if metadata.get("version") != _VERSION or metadata.get("model") != model:
        return None
    if str(_checksum(arrays)) != metadata["checksum"]:
        raise ValueError("the checksum differs")
    ids: list[int] = arrays.pop(_IDS).tolist()
    states: Any = tree_unflatten([*arrays.items(), *json.loads(metadata["plain"]).items()])
    classes = [cache_class(name) for name in json.loads(metadata["classes"])]
    return ids, [cls.from_state(state) for cls, state in zip(classes, states, strict=True)]


def _checksum(arrays: dict[str, mx.array]) -> int:
    """Over names and contents, in the order of the names."""
    value = 0
    for name in sorted(arrays):
        value = zlib.crc32(name.encode(), value)
        content: Any = arrays[name].reshape(-1).view(mx.uint8)
        value = zlib.crc32(content, value)
    return value

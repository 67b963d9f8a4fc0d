"""Which files the weights of a model are divided into."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from engine.catalog.json_files import NotJsonError, read_json

WEIGHTS_PATTERN: Final = "model*.safetensors"
"""The files mlx-lm loads."""

_INDEX_FILE: Final = "model.safetensors.index.json"
_NUMBERED: Final = re.compile(r"(model-)(\d{1,5})(-of-)(\d{1,5})(\.safetensors)")


class _Index(msgspec.Struct, frozen=True):
    weight_map: dict[str, str]


def expected_shards(folder: Path) -> frozenset[str]:
    """The names of files that must be in `folder`: those its index lists, and those the names of others promise."""
    return frozenset(_indexed(folder)) | frozenset(_promised(folder))


def _indexed(folder: Path) -> Iterator[str]:
    try:
        yield from read_json(folder / _INDEX_FILE, _Index).weight_map.values()
    except (FileNotFoundError, NotJsonError):
        return  # mlx-lm loads without an index


def _promised(folder: Path) -> Iterator[str]:
    """`model-00002-of-00003.safetensors` means that there are three."""
    for file in folder.glob(WEIGHTS_PATTERN):
        if match := _NUMBERED.fullmatch(file.name):
            before, number, of, count, after = match.groups()
            for index in range(1, int(count) + 1):
                yield f"{before}{index:0{len(number)}}{of}{count}{after}"
            return
        if file.is_symlink() and not file.exists():
            yield file.name

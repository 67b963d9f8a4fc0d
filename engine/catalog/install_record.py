"""What Candor notes in a model folder it made, so that a look tells whether the folder is whole."""

from pathlib import Path
from typing import Final, Self

import msgspec

RECORD_FILE: Final = "candor.json"
CONVERTER_VERSION: Final = 1
"""Raise it when a conversion writes something else than before: folders of an older one are made again."""


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How a model folder was made. `files` are names with sizes in bytes; hashes are SHA-256 in hex."""

    name: str
    source: str
    source_sha256: str
    licence: str
    weights: str
    converter: int
    files: dict[str, int]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The record in `folder`, or None where there is none that can be read."""
        try:
            return msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=cls)
        except (OSError, ValueError, RecursionError):
            return None

    def encode(self) -> bytes:
        """The content of the record's file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def first_damaged_file(self, folder: Path) -> str | None:
        """The name of a file in `folder` that is missing or has another size than it was written with.

        Sizes suffice: files reach the disk before the folder gets its name, and hashing them takes seconds.
        """
        return next((name for name, size in self.files.items() if _size(folder / name) != size), None)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None

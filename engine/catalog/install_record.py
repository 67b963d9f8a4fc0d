"""What Candor notes in a model folder it made, so that a look tells whether the folder is whole."""

import hashlib
from pathlib import Path
from typing import Final, Self

import msgspec

RECORD_FILE: Final = "candor.json"
CONVERTER_VERSION: Final = 2
"""Raise it when a conversion writes something else than before: folders of an older one are made again."""

_HEAD_BYTES: Final = 8 << 20
"""All of every small file, and of the weights their header; hashing so much takes about 10 ms."""


class WrittenFile(msgspec.Struct, frozen=True):
    """How a file was written: its size in bytes, and the SHA-256 in hex of its first `_HEAD_BYTES`."""

    size: int
    head_sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Look at the file at `path`. Raises OSError where there is none to be read."""
        with path.open("rb") as file:
            head = hashlib.sha256(file.read(_HEAD_BYTES))
        return cls(path.stat().st_size, head.hexdigest())


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How a model folder was made. `files` are by name; hashes are SHA-256 in hex."""

    name: str
    source: str
    source_sha256: str
    licence: str
    weights: str
    converter: int
    files: dict[str, WrittenFile]

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
        """The name of a file in `folder` that is missing or is not as it was written.

        Of the weights the size and the header suffice: files reach the disk before the folder gets its name, and
        hashing them takes seconds.
        """
        return next((name for name, written in self.files.items() if _look_at(folder / name) != written), None)


def _look_at(path: Path) -> WrittenFile | None:
    try:
        return WrittenFile.of(path)
    except (OSError, ValueError):  # a NUL in the name is a ValueError
        return None

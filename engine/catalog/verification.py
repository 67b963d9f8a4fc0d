"""Proof that a file is the one that was meant."""

import hashlib
import zipfile
from pathlib import Path
from typing import BinaryIO, Final

from engine.catalog.problems import damaged

_PIECE_BYTES: Final = 1 << 20


def has_sha256(path: Path, expected: str) -> bool:
    """Whether the file at `path` has this SHA-256 (hex)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == expected


def require_sha256(path: Path, expected: str) -> None:
    """Raise ProblemError (`model_damaged`) unless the file at `path` has this SHA-256 (hex)."""
    if not has_sha256(path, expected):
        raise damaged(path, "its checksum is not the expected one")


def unpack_member(archive: Path, member: str, size: int, target: BinaryIO) -> None:
    """Copy one member of a zip archive to `target`, at most `size` bytes, which it must have exactly."""
    try:
        with zipfile.ZipFile(archive) as content, content.open(member) as source:
            left = size
            while piece := source.read(_PIECE_BYTES):
                left -= len(piece)
                if left < 0:
                    break
                target.write(piece)
    except (zipfile.BadZipFile, KeyError) as error:
        raise damaged(archive, f"it does not hold {Path(member).name}") from error
    if left != 0:
        raise damaged(archive, f"its {Path(member).name} has another size than expected")

"""Folders that appear whole or not at all."""

import contextlib
import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from engine.catalog.places import make_private_folder

OpenFile = Callable[[Path], BinaryIO]
Chunk = bytes | memoryview


def open_for_writing(path: Path) -> BinaryIO:
    """Open a new file; one that exists is an error, since a staged folder begins empty."""
    return path.open("xb")


class StagedFolder:
    """A folder under construction. Files are on the disk, not only in its cache, when `write` returns."""

    def __init__(self, path: Path, open_file: OpenFile) -> None:
        self.path = path
        self._open_file = open_file

    def write(self, name: str, chunks: Iterable[Chunk]) -> None:
        """Write one file from its pieces, in order."""
        with self._open_file(self.path / name) as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())


@contextlib.contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Be the only one, of all processes, that replaces `target`; waits for its turn.

    The operating system releases the lock of a dead process, so whatever stage is found under the lock is nobody's.
    """
    make_private_folder(target.parent)
    with (target.parent / f".{target.name}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_stale_stages(target)
        yield


@contextlib.contextmanager
def staged_folder(target: Path, open_file: OpenFile = open_for_writing) -> Iterator[StagedFolder]:
    """A folder beside `target` that takes its place when the block ends, and vanishes when the block raises.

    Call it under `exclusive(target)`. What `target` was before is removed only once the new folder is in its place.
    """
    stage = _stage_path(target)
    stage.mkdir(mode=0o700)
    try:
        yield StagedFolder(stage, open_file)
        _sync_folder(stage)
        _replace(stage, target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def remove_stale_stages(target: Path) -> None:
    """Remove what dead runs left beside `target`."""
    for stale in target.parent.glob(f".{target.name}.stage-*"):
        shutil.rmtree(stale, ignore_errors=True)


def _stage_path(target: Path) -> Path:
    return target.parent / f".{target.name}.stage-{secrets.token_hex(4)}"


def _replace(stage: Path, target: Path) -> None:
    """A rename cannot replace a folder that holds files, so the old one steps aside first."""
    if target.exists() or target.is_symlink():
        aside = _stage_path(target)
        target.rename(aside)
        stage.rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        stage.rename(target)
    _sync_folder(target.parent)


def _sync_folder(path: Path) -> None:
    """Make the names in a folder as durable as its files."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

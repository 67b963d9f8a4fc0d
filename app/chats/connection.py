"""The opening of the chat file, which never harms what it finds."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

from app.chats.schema import LATEST, migrate, version_of
from app.chats.store_problems import already_in_use, newer_version, problem_of, unavailable
from engine.contracts import Problem

_BUSY_SECONDS = 0.2
"""Longer would be felt: the store is used on the window's thread."""


class OpenFile(NamedTuple):
    """An open chat file; `problem` says why it is not the one that was asked for, or not writable."""

    connection: sqlite3.Connection
    is_writable: bool
    problem: Problem | None = None


def open_file(path: Path, may_write: bool = True) -> OpenFile:
    """Open `path`, new if need be. `may_write` False: another Candor has it open.

    A file of a newer version, or one that cannot be written now, is opened for reading only. One that cannot be read
    at all is left alone, and an empty one in memory takes its place.
    """
    try:
        if not may_write:
            return _second_best(path, already_in_use(path))
        if _version_before_writing(path) > LATEST:
            return OpenFile(_connect_read_only(path), False, newer_version(path))
        return OpenFile(_connect_writable(path), True)
    except (sqlite3.Error, OSError) as error:
        return _second_best(path, problem_of(error, path))


def _second_best(path: Path, problem: Problem) -> OpenFile:
    if problem.code in {"store_read_only", "store_locked"}:
        try:
            return OpenFile(_connect_read_only(path), False, problem)
        except (sqlite3.Error, OSError):
            problem = unavailable(path)
    memory = _configured(sqlite3.connect(":memory:", isolation_level=None))
    migrate(memory)
    return OpenFile(memory, True, problem)


def _version_before_writing(path: Path) -> int:
    """A newer Candor's file must not even be switched to our journal mode."""
    if not path.exists() or path.stat().st_size == 0:
        return 0
    connection = _connect_read_only(path)
    with contextlib.closing(connection):
        return version_of(connection)


def _connect_writable(path: Path) -> sqlite3.Connection:
    # SQLite gives its journal files the mode of the main file, so that has to be right from the first moment.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        _configured(connection)
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_read_only(path: Path) -> sqlite3.Connection:
    try:
        return _connect_uri(f"{path.as_uri()}?mode=ro")
    except sqlite3.OperationalError:
        # Where the folder is read-only there can be no journal beside the file, and SQLite must not look for one.
        if path.with_name(f"{path.name}-wal").exists():
            raise
        return _connect_uri(f"{path.as_uri()}?immutable=1")


def _connect_uri(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        # SQLite looks at a file only when it is first read.
        version_of(connection)
        return _configured(connection)
    except BaseException:
        connection.close()
        raise


def _configured(connection: sqlite3.Connection) -> sqlite3.Connection:
    # NORMAL survives the death of the app at any moment; only a power cut may take the last transactions.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    # A damaged text is found by its checksum; it must not raise while its neighbours are read.
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    return connection

"""What can go wrong with the chat file, in the user's words."""

import sqlite3
from pathlib import Path

from engine.contracts import Problem


def newer_version(path: Path) -> Problem:
    return Problem(
        code="store_newer",
        sentence=f"The conversations in {path} were written by a newer Candor: they can be read but not changed.",
        remedy="Update Candor to go on with them.",
    )


def problem_of(error: sqlite3.Error | OSError, path: Path) -> Problem:
    """The sentence for an error of SQLite or of the file system."""
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte is the primary code; the rest only refines it.
    match None if code is None else code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return already_in_use(path)
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return _read_only(path)
        case sqlite3.SQLITE_FULL:
            return Problem(
                code="store_full",
                sentence="The disk is full: what is new on the screen is not saved yet.",
                remedy="Free some space; Candor keeps trying.",
            )
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return Problem(
                code="store_damaged",
                sentence=f"The file with the conversations, {path}, is damaged; it was left as it is.",
                remedy="Move it away and start Candor again; what is written now is not saved.",
            )
        case _:
            return _read_only(path) if isinstance(error, PermissionError) else unavailable(path)


def unavailable(path: Path) -> Problem:
    return Problem(
        code="store_unavailable",
        sentence=f"The file with the conversations, {path}, cannot be used.",
        remedy="Check the disk and the folder's permissions, and start Candor again; what is written now is not saved.",
    )


def already_in_use(path: Path) -> Problem:
    return Problem(
        code="store_locked",
        sentence=f"Another program, perhaps another Candor, uses the conversations in {path}: nothing can be saved.",
        remedy="Close it and try again.",
    )


def _read_only(path: Path) -> Problem:
    return Problem(
        code="store_read_only",
        sentence=f"The conversations in {path} cannot be changed: the file or its folder is read-only.",
        remedy="Make it writable for you and start Candor again.",
    )

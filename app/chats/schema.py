"""The shape of the chat file, as numbered migrations."""

import sqlite3
from typing import Final

Migration = tuple[str, ...]

_FIRST: Final[Migration] = (
    """CREATE TABLE chats (
        id INTEGER PRIMARY KEY,
        title TEXT NOT NULL DEFAULT '',
        model TEXT,
        draft TEXT NOT NULL DEFAULT '',
        head INTEGER,
        tab INTEGER,
        created_ms INTEGER NOT NULL,
        changed_ms INTEGER NOT NULL
    )""",
    """CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        chat INTEGER NOT NULL REFERENCES chats ON DELETE CASCADE,
        parent INTEGER,
        role TEXT NOT NULL,
        state TEXT NOT NULL,
        model TEXT,
        created_ms INTEGER NOT NULL,
        result TEXT,
        problem TEXT
    )""",
    "CREATE INDEX turns_of_chat ON turns (chat)",
    "CREATE INDEX turns_under_way ON turns (state) WHERE state = 'streaming'",
    # Text apart from token records, which are thirty times as big: opening a chat reads only what it shows at once.
    """CREATE TABLE chunks (
        id INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
        ordinal INTEGER NOT NULL,
        part TEXT NOT NULL,
        text TEXT NOT NULL,
        checksum INTEGER NOT NULL,
        UNIQUE (turn, ordinal)
    )""",
    """CREATE TABLE token_records (
        chunk INTEGER PRIMARY KEY REFERENCES chunks ON DELETE CASCADE,
        record BLOB NOT NULL
    )""",
    "CREATE VIRTUAL TABLE turn_search USING fts5 (text)",
    "CREATE TRIGGER forget_turn AFTER DELETE ON turns BEGIN DELETE FROM turn_search WHERE rowid = old.id; END",
)

MIGRATIONS: Final[tuple[Migration, ...]] = (_FIRST,)
"""Migration n brings a file of version n to version n + 1. Published ones never change."""

LATEST: Final = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """How many migrations the file has seen; 0 for a new one."""
    row = connection.execute("PRAGMA user_version").fetchone()
    return int(row[0])


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the latest version, one transaction for each step, so that a crash leaves a whole version."""
    for version in range(version_of(connection), LATEST):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

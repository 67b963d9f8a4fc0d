"""Transactions on the chat file, with what goes wrong as sentences."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.chats.connection import open_file
from app.chats.store_problems import problem_of
from engine.contracts import Problem, ProblemError


class ChatFile:
    """The one owner of the connection. Confined to the loop that opened it.

    `problem` says what was wrong with the file at opening; it can still be read.
    """

    def __init__(self, path: Path, may_write: bool) -> None:
        self._path = path
        self._connection, self.is_writable, self.problem = open_file(path, may_write)

    def close(self) -> None:
        self._connection.close()

    def forbid_writing(self, problem: Problem) -> None:
        """Only read from now on, because of `problem`."""
        self.is_writable, self.problem = False, problem

    def rows(self, query: str, *parameters: object) -> list[Any]:
        """All rows of `query`. Raises `ProblemError`."""
        with self._translated():
            return self._connection.execute(query, parameters).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing: what the body raises leaves the file as it was. Raises `ProblemError`."""
        if not self.is_writable and self.problem is not None:
            raise ProblemError(self.problem)
        with self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite has already rolled back by itself when the disk is full.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ProblemError(problem_of(error, self._path)) from error

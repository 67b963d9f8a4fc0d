"""The user's settings, kept in one JSON file."""

import os
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from app.settings.declarations import Setting
from engine.contracts import Problem, ProblemError

T = TypeVar("T")


class Settings:
    """Reads settings at once and writes every change before it returns.

    Keys this version does not know are kept as they are. A file that cannot be read is set aside, never overwritten,
    and the defaults apply; `problem` then says so.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem: Problem | None = None
        self._values: dict[str, Any] = self._read()

    def __getitem__(self, setting: Setting[T]) -> T:
        """The stored value, or the default where none, or one of the wrong type, is stored."""
        try:
            return _checked(setting, self._values[setting.key])
        except (KeyError, msgspec.ValidationError):
            return setting.default

    def __setitem__(self, setting: Setting[T], value: T) -> None:
        """Raises `ProblemError` when the file cannot be written; the value applies until the app ends all the same."""
        self._values[setting.key] = msgspec.to_builtins(_checked(setting, value))
        try:
            _write_atomically(self._path, msgspec.json.format(msgspec.json.encode(self._values)))
        except OSError as error:
            raise ProblemError(_unwritable(self._path)) from error

    def _read(self) -> dict[str, Any]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError):
            self.problem = self._set_aside()
            return {}

    def _set_aside(self) -> Problem:
        aside = self._path.with_suffix(".damaged.json")
        try:
            self._path.replace(aside)
        except OSError:
            return _unreadable(self._path)
        return _unreadable(aside)


def _checked(setting: Setting[T], value: Any) -> T:  # noqa: ANN401 a file may hold anything
    checked: T = msgspec.convert(value, setting.kind)
    return checked


def _write_atomically(path: Path, content: bytes) -> None:
    """Owner-only from the first moment; a crash leaves either the old file or the new one."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _unreadable(path: Path) -> Problem:
    return Problem(
        code="settings_damaged",
        sentence=f"The settings could not be read, so the defaults apply; the old file is {path}.",
    )


def _unwritable(path: Path) -> Problem:
    return Problem(
        code="settings_unwritable",
        sentence=f"The settings could not be saved in {path}.",
        remedy="Check the disk and the folder's permissions.",
    )

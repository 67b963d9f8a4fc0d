"""Reads the small files of a model folder, which nobody has checked yet."""

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.contracts import Problem, ProblemError

MAX_TOKENIZER_BYTES: Final = 128 << 20
MAX_SETTINGS_BYTES: Final = 16 << 20
MAX_TEMPLATE_BYTES: Final = 1 << 20


def read_bounded(path: Path, limit: int) -> bytes | None:
    """The file's bytes, or None when there is no such file. Raises `ProblemError` if unreadable or above `limit`."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror or type(error).__name__})") from error
    if len(content) > limit:
        raise damaged(path, f"is larger than {limit >> 20} MiB")
    return content


def read_text(path: Path, limit: int = MAX_TEMPLATE_BYTES) -> str | None:
    """The file as text, or None when there is no such file. Raises `ProblemError` when it is not UTF-8."""
    content = read_bounded(path, limit)
    if content is None:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise damaged(path, "is not UTF-8 text") from error


def read_settings(path: Path) -> dict[str, Any]:
    """The JSON object in a settings file; empty when there is no such file. Raises `ProblemError` when damaged.

    The standard parser reads it, because published settings hold numbers that a strict one refuses (`Infinity`).
    """
    text = read_text(path, MAX_SETTINGS_BYTES)
    if text is None:
        return {}
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, "is not valid JSON") from error
    if not isinstance(settings, dict):
        raise damaged(path, "does not hold a JSON object")
    return settings


def read_recommendations(path: Path) -> dict[str, Any]:
    """As `read_settings`, for a file that a model can do without: a damaged one is as good as none."""
    try:
        return read_settings(path)
    except ProblemError:
        return {}


def read_tokenizer(path: Path) -> dict[str, Any] | None:
    """The JSON object of `tokenizer.json`, tens of megabytes long; None when there is no such file."""
    content = read_bounded(path, MAX_TOKENIZER_BYTES)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(path, "is not valid JSON") from error


def damaged(path: Path, what: str) -> ProblemError:
    """The problem of a file that is there but of no use."""
    return ProblemError(
        Problem(
            code="tokenizer_damaged",
            sentence=f"The file {path.name} of this model {what}.",
            remedy="Download the model again.",
        )
    )

"""The log: what happened and where, never what was said."""

import logging
import os
from copy import copy
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from io import TextIOWrapper

_ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

_BYTES = 1_000_000
_FILES = 3


class PlacesOnly(logging.Formatter):
    """Writes an exception's type and its places in the code: its message may quote the user."""

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have left its own wording of the exception on the record.
        ours = copy(record)
        ours.exc_text = None
        return super().format(ours)

    def formatException(self, ei: _ExceptionInfo) -> str:  # noqa: N802 logging calls it by this name
        kind, _, place = ei
        lines = [] if kind is None else [kind.__qualname__]
        while place is not None:
            code = place.tb_frame.f_code
            lines.append(f"  {code.co_filename}:{place.tb_lineno} {code.co_qualname}")
            place = place.tb_next
        return "\n".join(lines)


class PrivateFileHandler(RotatingFileHandler):
    """A rotating file only its owner can read."""

    def _open(self) -> "TextIOWrapper":
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_WRONLY, 0o600))
        return super()._open()


def start_logging(path: Path) -> logging.Handler:
    """Send warnings and worse of everything, and more of our own, to `path`. Raises `OSError`."""
    handler = PrivateFileHandler(path, maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8")
    handler.setFormatter(PlacesOnly("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("app").setLevel(logging.INFO)
    return handler


def stop_logging(handler: logging.Handler) -> None:
    """Undo `start_logging`."""
    logging.getLogger().removeHandler(handler)
    handler.close()

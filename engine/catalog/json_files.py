"""JSON files from elsewhere, read with a bound on their size."""

import json
import stat
from pathlib import Path
from typing import Final, TypeVar

import msgspec

T = TypeVar("T")

_MAX_BYTES: Final = 50_000_000


class NotJsonError(Exception):
    """The file holds something else than expected; the text completes "cannot be used: ..."."""


def read_json(path: Path, kind: type[T]) -> T:
    """The content of the file at `path` as a `kind`.

    Raises NotJsonError for what is too large, no JSON or of another shape, OSError for a file that cannot be read.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise NotJsonError("it is no regular file")
    if status.st_size > _MAX_BYTES:
        raise NotJsonError("it is too large")
    try:
        # Unlike msgspec's own reader, this one takes the infinities that some configurations contain.
        return msgspec.convert(json.loads(path.read_bytes()), kind)
    except (ValueError, RecursionError):
        raise NotJsonError("it is damaged") from None

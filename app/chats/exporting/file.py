"""The file that an export is written to."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.contracts import Problem, ProblemError


@contextmanager
def written_file(path: Path) -> Iterator[Callable[[str], object]]:
    """Gives the function that writes a piece of text to a new file, which takes `path`'s place when all is written.

    If the body raises, whatever stood at `path` stands there still. Only its owner can read the file. Raises
    `ProblemError` when it cannot be written.
    """
    try:
        with _beside(path) as (place, write):
            yield write
        place.replace(path)
    except OSError as error:
        raise ProblemError(
            Problem(
                code="export_failed",
                sentence=f"{path.name} could not be written: {error.strerror or 'the disk refused it'}.",
                remedy="Choose another folder, or free some space.",
            )
        ) from error


@contextmanager
def _beside(path: Path) -> Iterator[tuple[Path, Callable[[str], object]]]:
    """A temporary file in the same folder, which is removed if the body raises. `mkstemp` lets only its owner read."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    place = Path(name)
    try:
        # No translation of line ends: what is read back must be what was written.
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            yield place, file.write
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise

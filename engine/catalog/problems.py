"""The sentences in which the catalog says what went wrong, each with a remedy."""

import errno
from pathlib import Path

from engine.contracts import Problem, ProblemError

_GIGABYTE = 1_000_000_000


def damaged(path: Path, cause: str) -> ProblemError:
    """`path` is not what it should be: `cause` completes "cannot be used: ..."."""
    return ProblemError(
        Problem(
            code="model_damaged",
            sentence=f"The model file {path.name} cannot be used: {cause}.",
            remedy="Download it again.",
        )
    )


def unsupported(path: Path, what: str) -> ProblemError:
    """`path` may be whole, but Candor cannot read `what` of it."""
    return ProblemError(
        Problem(
            code="model_unsupported",
            sentence=f"Candor cannot read {path.name}: {what} is not supported.",
            remedy="Choose another model, or the same model in another format.",
        )
    )


def disk_full(folder: Path, needed: int | None = None) -> ProblemError:
    """The disk that holds `folder` has no room for `needed` bytes more."""
    room = f"at least {needed / _GIGABYTE:.1f} GB of room" if needed else "more room"
    return ProblemError(
        Problem(
            code="disk_full",
            sentence=f"The disk is full: the model needs {room} in {folder}.",
            remedy="Free some space and try again.",
        )
    )


def from_os_error(error: OSError, folder: Path) -> ProblemError:
    """What the operating system refused while a model was written to `folder`, as a sentence."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full(folder)
    reason = error.strerror or type(error).__name__
    return ProblemError(
        Problem(
            code="model_not_written",
            sentence=f"The model could not be written to {folder}: {reason}.",
            remedy="Make the folder writable, or choose another with the environment variable CANDOR_HOME.",
        )
    )

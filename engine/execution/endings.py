"""Which outcome an ended session has."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from engine.contracts import (
    CLEANUP_FAILED,
    EXECUTION_FAILED,
    Cancelled,
    Completed,
    Failed,
    Failure,
    Outcome,
    Problem,
    ProblemError,
)

R = TypeVar("R")


class Returned(msgspec.Struct, Generic[R], frozen=True):
    """The execution came to its end."""

    result: R


class Raised(msgspec.Struct, frozen=True):
    """Preparing, reserving, creating the run or executing it raised."""

    error: BaseException


class Ending(NamedTuple, Generic[R]):
    """How the execution went, then what went wrong while cleaning up after it."""

    execution: Returned[R] | Raised
    cleanup_errors: Sequence[BaseException]


class Taken(NamedTuple):
    """What was committed: a count and, in collect sessions with a reservation, a view of it."""

    tokens: int
    output: memoryview | None


def outcome_of(ending: Ending[R], reason: str | None, taken: Taken) -> Outcome[R]:
    """A failed clean-up beats a cancellation, and a cancellation beats whatever the execution did."""
    execution = ending.execution
    if ending.cleanup_errors:
        return Failed(_cleanup_failure(execution, ending.cleanup_errors), *taken)
    if reason is not None:
        return Cancelled(reason, *taken)
    match execution:
        case Returned(result):
            return Completed(result, *taken)
        case Raised(error):  # pragma: no branch
            return Failed(Failure(EXECUTION_FAILED, text_of(error), problem=_problem_of(error)), *taken)


def text_of(error: BaseException) -> str:
    """What the error says, or its type when it says nothing."""
    return str(error) or type(error).__name__


def _cleanup_failure(execution: Returned[R] | Raised, errors: Sequence[BaseException]) -> Failure:
    first = execution.error if isinstance(execution, Raised) else errors[0]
    cleanup = "; ".join(text_of(error) for error in errors)
    return Failure(CLEANUP_FAILED, text_of(first), cleanup, _problem_of(first))


def _problem_of(error: BaseException) -> Problem | None:
    return error.problem if isinstance(error, ProblemError) else None

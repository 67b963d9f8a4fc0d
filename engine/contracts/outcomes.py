"""How a session ended, as a value."""

import enum
from typing import Any, Final, Generic, TypeVar

import msgspec

from engine.contracts.problems import Problem

R_co = TypeVar("R_co", covariant=True)

EXECUTION_FAILED: Final = "execution_failed"
CLEANUP_FAILED: Final = "cleanup_failed"


class FinishReason(enum.StrEnum):
    """Why a completed answer ended."""

    END_OF_TURN = "end_of_turn"
    STOP_STRING = "stop_string"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"


class GenerationResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="generation"):
    """The figures of a finished answer. Times are seconds of the engine's clock.

    `cached_tokens` of the `prompt_tokens` came from stored work. `seed` reproduces the draw. `first_token_seconds` runs
    from the opening of the session to the first sampled token, `decode_seconds` from there to the last. `left_out` are
    places in the request's messages that were not sent, because they did not fit.
    """

    finish_reason: FinishReason
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    seed: int
    first_token_seconds: float
    decode_seconds: float
    left_out: tuple[int, ...] = ()


class ScoreResult(msgspec.Struct, frozen=True, kw_only=True, tag="scored"):
    """The figures of a finished scoring: tokens committed, and seconds of the engine's clock."""

    tokens: int
    seconds: float


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """What failed. `code` is `execution_failed` or `cleanup_failed`; the clean-up's own text is given apart."""

    code: str
    message: str
    cleanup_error: str | None = None
    problem: Problem | None = None


class Completed(msgspec.Struct, Generic[R_co], frozen=True, tag="completed", omit_defaults=True):
    """The method returned. `output` is a view of the reserved buffer, in collect sessions only."""

    result: R_co
    committed_tokens: int
    output: memoryview | None = None


class Cancelled(msgspec.Struct, frozen=True, tag="cancelled", omit_defaults=True):
    """A cancellation was recorded; it beats both success and failure. `reason` is the first one given."""

    reason: str
    committed_tokens: int
    output: memoryview | None = None


class Failed(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """The work, or cleaning up after it, raised."""

    error: Failure
    committed_tokens: int
    output: memoryview | None = None


Outcome = Completed[R_co] | Cancelled | Failed
AnyOutcome = Completed[Any] | Cancelled | Failed

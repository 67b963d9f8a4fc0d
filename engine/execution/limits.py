"""The bounds of one session."""

import math
from typing import Final

import msgspec

from engine.execution.refusals import Refusal, RefusedError

MAX_OUTPUT_LIMIT: Final = 2**53 - 1


class SessionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may wait for the reader, and how long for it to come back; raises `ValueError` when nothing could pass.

    At most `max_queued_events` events holding `max_queued_tokens` tokens are queued (both at least 1), with at most
    `max_top_logprobs` candidates a token. A reader away for `idle_timeout_ms` ends the session; None waits for ever.
    """

    max_queued_events: int = 64
    max_queued_tokens: int = 256
    max_top_logprobs: int = 100
    idle_timeout_ms: float | None = None

    def __post_init__(self) -> None:
        if not (self.max_queued_events >= 1 and self.max_queued_tokens >= 1):  # so that NaN is refused, too
            raise ValueError("a session needs room for one event of one token")
        if self.max_top_logprobs < 0:
            raise ValueError("max_top_logprobs cannot be negative")
        if self.idle_timeout_ms is not None and not 0 <= self.idle_timeout_ms < math.inf:
            raise ValueError("idle_timeout_ms is neither None nor a finite time")


def checked_output_limit(limit: int) -> int:
    """The plan's limit, or `RefusedError`. A bool is no number of tokens."""
    if type(limit) is not int or not 0 <= limit <= MAX_OUTPUT_LIMIT:
        raise RefusedError(Refusal.INVALID_OUTPUT_LIMIT)
    return limit

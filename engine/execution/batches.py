"""The snapshot of one publication of tokens."""

from collections.abc import Sequence
from typing import Final

import msgspec

from engine.contracts import TokenLogprobs, TokenPiece
from engine.execution.refusals import Refusal, RefusedError

MAX_TOKEN_ID: Final = 2**32 - 1


class TokenBatch(msgspec.Struct, frozen=True):
    """Tokens committed together, owned by nobody else: what the producer does to its lists later does not show."""

    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs | None, ...] | None = None
    pieces: tuple[TokenPiece, ...] | None = None

    def split(self, size: int) -> Sequence["TokenBatch"]:
        """Consecutive parts of at most `size` tokens, each with its share; none for an empty batch."""
        if len(self.token_ids) <= size:
            return (self,) if self.token_ids else ()
        return [self._part(slice(start, start + size)) for start in range(0, len(self.token_ids), size)]

    def _part(self, tokens: slice) -> "TokenBatch":
        return TokenBatch(
            self.token_ids[tokens],
            None if self.logprobs is None else self.logprobs[tokens],
            None if self.pieces is None else self.pieces[tokens],
        )


def checked_batch(
    token_ids: Sequence[int],
    logprobs: Sequence[TokenLogprobs | None] | None,
    pieces: Sequence[TokenPiece] | None,
    *,
    room: int,
    max_top: int,
) -> TokenBatch:
    """Copy one publication, or raise `RefusedError` for the first promise broken. `room` is in tokens."""
    count = len(token_ids)
    if count > room:
        raise RefusedError(Refusal.OUTPUT_LIMIT_EXCEEDED)
    if logprobs is not None:
        _check_logprobs(logprobs, count, max_top)
    if pieces is not None and len(pieces) != count:
        raise RefusedError(Refusal.PIECES_MISALIGNED)
    for token_id in token_ids:
        # By exact type: a bool is an int in Python, and no token.
        if type(token_id) is not int or not 0 <= token_id <= MAX_TOKEN_ID:
            raise RefusedError(Refusal.INVALID_TOKEN_ID)
    return TokenBatch(
        tuple(token_ids),
        None if logprobs is None else tuple(logprobs),
        None if pieces is None else tuple(pieces),
    )


def _check_logprobs(logprobs: Sequence[TokenLogprobs | None], count: int, max_top: int) -> None:
    if len(logprobs) != count:
        raise RefusedError(Refusal.LOGPROBS_MISALIGNED)
    for entry in logprobs:
        if entry is not None and entry.top is not None and len(entry.top) > max_top:
            raise RefusedError(Refusal.TOP_LOGPROBS_OVER_CAPACITY)

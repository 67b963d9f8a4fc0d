"""A message together with its tokens."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from app.chats.rows import NO_TOKEN
from app.chats.token_records import TokenRecords
from app.chats.tree import Turn, TurnId

_BATCH: Final = 256

TokensOf = Callable[[TurnId], TokenRecords]
"""Where a turn's tokens come from, such as `ChatStore.read_tokens`; asked once a turn, just before it is written."""


class Answer(NamedTuple):
    """One turn of any role with what is known of its tokens, in order."""

    turn: Turn
    records: TokenRecords = TokenRecords()


def batches(records: TokenRecords) -> Iterator[TokenRecords]:
    """The tokens a few hundred at a time, so that whoever writes them can do something else in between."""
    for start in range(0, len(records.pieces), _BATCH):
        end = start + _BATCH
        yield TokenRecords(records.pieces[start:end], records.logprobs[start:end])


def known_tokens(records: TokenRecords) -> TokenRecords:
    """Nothing where no token is known: the store then gives the whole text as one piece without an id."""
    return TokenRecords() if all(piece.id == NO_TOKEN for piece in records.pieces) else records

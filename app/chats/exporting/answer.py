"""A message together with its tokens."""

from collections.abc import Callable
from typing import NamedTuple

from app.chats.rows import NO_TOKEN
from app.chats.token_records import TokenRecords
from app.chats.tree import Turn, TurnId

TokensOf = Callable[[TurnId], TokenRecords]
"""Where a turn's tokens come from, such as `ChatStore.read_tokens`; asked once a turn, just before it is written."""


class Answer(NamedTuple):
    """One turn of any role with what is known of its tokens, in order."""

    turn: Turn
    records: TokenRecords = TokenRecords()


def known_tokens(records: TokenRecords) -> TokenRecords:
    """Nothing where no token is known: the store then gives the whole text as one piece without an id."""
    return TokenRecords() if all(piece.id == NO_TOKEN for piece in records.pieces) else records

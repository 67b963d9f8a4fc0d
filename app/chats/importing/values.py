"""What an import gives."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, TurnId


class ImportedChat(NamedTuple):
    """A conversation as it was found; ids hold within it only.

    Every parent is in `turns` before its children, so a store can take the turns in order and give them new ids.
    `tokens` has the turns whose tokens are known. No turn is streaming.
    """

    chat: Chat
    tokens: Mapping[TurnId, TokenRecords] = {}


class Note(NamedTuple):
    """Something that could not be taken over; `conversation` is its place in the file from 1, 0 for the file itself."""

    conversation: int
    sentence: str


class Found(NamedTuple):
    """One conversation of a file with remarks about it; without `imported` it was skipped."""

    imported: ImportedChat | None
    remarks: Sequence[str] = ()


def left_out(kind: str) -> str:
    """The line that marks in a message the place of something that cannot be imported."""
    return f"[not imported: {kind}]"

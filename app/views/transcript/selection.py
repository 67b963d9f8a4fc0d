"""What the user has selected in a transcript."""

from collections.abc import Sequence
from typing import NamedTuple

from app.views.transcript.message import TranscriptMessage


class Position(NamedTuple):
    """A gap between two characters; `offset` in code points of the message's text. They compare in reading order."""

    message: int
    offset: int


class TextSelection:
    """From where the mouse went down to where it is now; empty when both are the same."""

    def __init__(self) -> None:
        self.origin = Position(0, 0)
        self.cursor = Position(0, 0)

    @property
    def is_empty(self) -> bool:
        return self.origin == self.cursor

    @property
    def ordered(self) -> tuple[Position, Position]:
        first, last = sorted((self.origin, self.cursor))
        return first, last

    def begin(self, position: Position) -> None:
        self.origin = self.cursor = position

    def extend(self, position: Position) -> None:
        self.cursor = position

    def select(self, first: Position, last: Position) -> None:
        self.origin, self.cursor = first, last

    def within(self, message: int, start: int, end: int) -> tuple[int, int] | None:
        """The selected part of a stretch of a message, or None."""
        first, last = self.ordered
        if self.is_empty or not first.message <= message <= last.message:
            return None
        chosen_start = max(start, first.offset if message == first.message else start)
        chosen_end = min(end, last.offset if message == last.message else end)
        return (chosen_start, chosen_end) if chosen_start < chosen_end else None

    def text(self, messages: Sequence[TranscriptMessage]) -> str:
        """The selected text in reading order, messages parted by a blank line."""
        first, last = self.ordered
        if self.is_empty:
            return ""
        parts = []
        for index in range(first.message, last.message + 1):
            message = messages[index]
            start = first.offset if index == first.message else 0
            end = last.offset if index == last.message else message.length
            parts.append(message.blocks.text_between(start, end))
        return "\n\n".join(parts)


def word_around(text: str, offset: int) -> tuple[int, int]:
    """The word (or the run of other characters) at an offset."""
    if not text:
        return 0, 0
    offset = min(offset, len(text) - 1)
    kind = _kind(text[offset])
    start = end = offset
    while start > 0 and _kind(text[start - 1]) == kind:
        start -= 1
    while end < len(text) and _kind(text[end]) == kind:
        end += 1
    return start, end


def _kind(character: str) -> int:
    if character.isalnum() or character == "_":
        return 0
    return 1 if character.isspace() else 2

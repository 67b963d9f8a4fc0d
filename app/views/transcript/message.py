"""One message of the transcript with its tokens."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby

from app.views.transcript.blocks import Blocks
from engine.contracts import Part, Role, TokenLogprobs, TokenPiece


class TranscriptMessage:
    """Text in blocks, and the tokens that wrote it. Owned by one transcript, on the Qt thread.

    Tokens count from 0 in the order they came. Their spans are moved by the length of the text that the message began
    with, so that they count from the start of the message.
    """

    def __init__(self, key: str, role: Role, text: str) -> None:
        self.key = key
        self.role = role
        self.note = ""
        self.ended = False
        self.blocks = Blocks()
        self.pieces: list[TokenPiece] = []
        self.logprobs: list[TokenLogprobs | None] = []
        self._bare_tokens: list[int] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._offset = len(text)
        self.blocks.append(text, Part.ANSWER)

    @property
    def row_count(self) -> int:
        """A header, the blocks, a footer."""
        return len(self.blocks) + 2

    @property
    def length(self) -> int:
        """Code points of the whole text."""
        return self.blocks.characters

    @property
    def is_empty(self) -> bool:
        return self.blocks.characters == 0

    def append(self, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None) -> int:
        """Add tokens; returns the index of the first block that changed."""
        first_changed = len(self.blocks) - 1
        for part, run in groupby(pieces, key=lambda piece: piece.part):
            if text := "".join([piece.text for piece in run]):
                self.blocks.append(text, part)
        self.pieces.extend(pieces)
        self.logprobs.extend(logprobs if logprobs is not None else [None] * len(pieces))
        return first_changed

    def tokens_between(self, start: int, end: int) -> list[int]:
        """The tokens whose characters overlap a stretch of the text, in order."""
        self._note_spans()
        first = bisect_left(self._starts, start)
        while first > 0 and self._reaches_past(first - 1, start):
            first -= 1
        last = bisect_left(self._starts, end)
        return [token for token in range(first, last) if self._ends[token] > max(start, self._starts[token])]

    def span(self, token: int) -> tuple[int, int]:
        """Code point offsets of the token's characters in the message's text."""
        self._note_spans()
        return self._starts[token], self._ends[token]

    @property
    def bare_tokens(self) -> list[int]:
        """The tokens that put no text into the message: special ones, markup, what a stop string removed."""
        self._note_spans()
        return self._bare_tokens

    def _reaches_past(self, token: int, offset: int) -> bool:
        """Whether the token may reach past `offset`; one without characters says nothing about those before it."""
        return self._ends[token] > offset or self._ends[token] == self._starts[token]

    def _note_spans(self) -> None:
        """Catch up with the tokens that came since somebody last asked where tokens stand."""
        previous = self._starts[-1] if self._starts else 0
        for token in range(len(self._starts), len(self.pieces)):
            piece = self.pieces[token]
            if piece.end == piece.start:
                self._bare_tokens.append(token)
            previous = max(previous, piece.start + self._offset)
            self._starts.append(previous)
            self._ends.append(max(previous, piece.end + self._offset))

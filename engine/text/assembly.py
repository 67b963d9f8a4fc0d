"""Puts a message together from token ids: every token with its text, its place and its numbers."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import msgspec

from engine.contracts import Part, Removal, TokenLogprobs, TokenPiece
from engine.text.decoder import DecodedToken, TokenBytes, TokenDecoder
from engine.text.parts import PartSplitter, Place
from engine.text.stop_strings import StopMatcher
from engine.text.tags import Mark, MarkKind, TagSyntax


class MessageTokens(TokenBytes, Protocol):
    """What assembling a message asks of a tokenizer."""

    @property
    def syntax(self) -> TagSyntax: ...

    def special_content(self, token_id: int) -> str:
        """How a special token is written, `<|im_end|>`; empty for any other."""


class AssembledToken(NamedTuple):
    """A token that is final: what it appended to the message, with what was measured of it."""

    id: int
    piece: TokenPiece
    logprobs: TokenLogprobs | None


@dataclass(slots=True)
class _Cell:
    """A token whose text is known and whose place may not be. Offsets are into all text before any removal."""

    token: DecodedToken
    start: int
    place: Place
    """Where it belongs if it has no text."""

    @property
    def text_end(self) -> int:
        return self.start + len(self.token.text)

    @property
    def end(self) -> int:
        """The end of the last character it took part in."""
        return self.text_end + self.token.shares_next


class MessageAssembler:
    """Turns one answer's token ids into final pieces, holding back what is not decided yet.

    Held back are incomplete characters, and text that may become a stop string or a tag. Token records are never
    merged: each token comes out once, in order, with its own numbers. Once a stop string is complete, `stopped` is
    True; nothing from its first character on is shown, and tokens that lose all their text are marked.
    """

    def __init__(
        self,
        text_model: MessageTokens,
        *,
        stop: Sequence[str] = (),
        opens_thinking: bool = False,
        closes_by_spelling: bool = False,
        continues: bool = False,
    ) -> None:
        """`continues`: the text goes on with one the user sees already, so its leading space is kept."""
        self._tokens = text_model
        self._decoder = TokenDecoder(text_model, continues=continues)
        self._splitter = PartSplitter(
            text_model.syntax, opens_thinking=opens_thinking, closes_by_spelling=closes_by_spelling
        )
        self._stops = StopMatcher(stop)
        self._logprobs: deque[TokenLogprobs | None] = deque()
        self._cells: deque[_Cell] = deque()
        self._seen = 0
        self._shown = 0

    @property
    def stopped(self) -> bool:
        return self._stops.start is not None

    @property
    def part(self) -> Part:
        """The part that the message is in now; THINKING at the end means that thinking was cut."""
        return self._splitter.part

    def push(self, token_id: int, logprobs: TokenLogprobs | None = None) -> Sequence[AssembledToken]:
        """Take the next token; returns those that became final, often none, in order."""
        self._logprobs.append(self._with_bytes(logprobs))
        for token in self._decoder.push(token_id):
            self._admit(token)
        if self.stopped:
            self._splitter.finish()
        return self._release(min(self._splitter.decided, self._stops.decided))

    def finish(self) -> Sequence[AssembledToken]:
        """No more tokens come: everything held back is final."""
        for token in self._decoder.finish():
            self._admit(token)
        self._splitter.finish()
        return self._release(self._seen)

    def _with_bytes(self, logprobs: TokenLogprobs | None) -> TokenLogprobs | None:
        if logprobs is None or logprobs.top is None:
            return logprobs
        top = tuple(
            msgspec.structs.replace(candidate, data=self._tokens.token_bytes(candidate.id))
            for candidate in logprobs.top
        )
        return msgspec.structs.replace(logprobs, top=top)

    def _admit(self, token: DecodedToken) -> None:
        mark = self._tokens.syntax.marks.get(token.id)
        is_name = self._splitter.in_header
        if mark is None and not token.special:
            place = Place(self._splitter.part, None)
            self._splitter.push(token.text)
        else:
            place = self._admit_mark(token, mark)
        self._stops.push(token.text, hidden=is_name)
        self._cells.append(_Cell(token, self._seen, place))
        self._seen += len(token.text)

    def _admit_mark(self, token: DecodedToken, mark: Mark | None) -> Place:
        place = self._splitter.push_mark(mark, token.text)
        divides = mark is not None and place.removed is not None and mark.kind is not MarkKind.ANNOTATES
        wanted = self._stops.push_marker(self._tokens.special_content(token.id), divides=divides)
        return Place(place.part, Removal.STOP_STRING) if wanted else place

    def _release(self, decided: int) -> list[AssembledToken]:
        """Everything whose characters are all decided, or lie behind a complete stop string."""
        limit = self._seen if self.stopped else decided
        released = []
        while self._cells and self._cells[0].end <= limit:
            cell = self._cells.popleft()
            self._forget_before(cell.start)
            released.append(AssembledToken(cell.token.id, self._piece(cell), self._logprobs.popleft()))
        return released

    def _piece(self, cell: _Cell) -> TokenPiece:
        token = cell.token
        kept, place = self._kept(cell)
        # A token that holds text and the beginning of a character has its own text's span only: so spans tile.
        start = self._shown
        end = start + (len(kept) or self._shares_shown(cell))
        self._shown += len(kept)
        return TokenPiece(
            token.id, token.data, kept, start, end, part=place.part, special=token.special, removed=place.removed
        )

    def _kept(self, cell: _Cell) -> tuple[str, Place]:
        """The token's text that is shown, with its place: that of the text shown last, else of what is not shown."""
        if cell.start == cell.end:
            return "", self._place_of_empty(cell)
        kept, last = "", None
        for start, end, place in self._stretches(cell.start, cell.text_end):
            if place.removed is None:
                kept, last = kept + cell.token.text[start - cell.start : end - cell.start], place
        return kept, last or self._place_at(cell.start)

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int, Place]]:
        """The text from `start` to `end` by place, in order, as far as no stop string is in it."""
        end = end if self._stops.start is None else min(end, self._stops.start)
        for run in self._splitter.runs:
            if start >= end:
                return
            yield start, min(run.end, end), run.place
            start = run.end

    def _place_of_empty(self, cell: _Cell) -> Place:
        behind_stop = self._stops.start is not None and cell.start > self._stops.start
        return Place(cell.place.part, Removal.STOP_STRING) if behind_stop else cell.place

    def _shares_shown(self, cell: _Cell) -> bool:
        return cell.token.shares_next and self._place_at(cell.text_end).removed is None

    def _place_at(self, offset: int) -> Place:
        place = next(run.place for run in self._splitter.runs if offset < run.end)
        behind_stop = self._stops.start is not None and offset >= self._stops.start
        return Place(place.part, Removal.STOP_STRING) if behind_stop else place

    def _forget_before(self, offset: int) -> None:
        """Drop what no token still waiting refers to, so that cost and memory do not grow with the message."""
        runs = self._splitter.runs
        while runs and runs[0].end <= offset:
            runs.popleft()

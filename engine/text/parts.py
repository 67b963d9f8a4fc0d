"""Splits a model's output into thinking, answer and tool calls while it arrives."""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from engine.contracts import Part, Removal
from engine.text.quoting import LinePosition, closes_quote
from engine.text.spelled_tags import SpelledTags
from engine.text.tags import HeaderSyntax, Mark, MarkKind, TagPair, TagSyntax

_MAX_HELD_SPACE: Final = 64


class Place(NamedTuple):
    """Where something belongs, with the reason when its text is not shown."""

    part: Part
    removed: Removal | None


class Run(NamedTuple):
    """Text that has found its place: it ends at this offset of all text pushed."""

    end: int
    place: Place


class PartSplitter:
    """Decides for every character which part it belongs to, and which characters are tags.

    A thinking tag spelled in text counts only at the very beginning of a message, or right after thinking: later it is
    a mention. A tool call spelled in text counts at the beginning of a line outside code. Inside thinking only its own
    tags count, an inner pair belongs to the thinking, and a closing tag in backticks is a quote. A tag that is a token
    of its own needs none of these rules.

    `runs` grows in order; text after `decided` is held back, because it may become a tag.
    """

    def __init__(self, syntax: TagSyntax, *, opens_thinking: bool, closes_by_spelling: bool = False) -> None:
        """`closes_by_spelling`: the prompt's own opening has no closing token, whatever other tags are tokens."""
        self.runs: deque[Run] = deque()
        self.decided = 0
        self.part = Part.THINKING if opens_thinking else Part.ANSWER
        self._syntax = syntax
        self._pair: TagPair | None = None
        self._depth = 1
        self._opened_by_prompt = opens_thinking
        self._closes_by_token = syntax.closes_thinking_by_token and not closes_by_spelling
        self._at_start = True
        self._space = 0
        self._pending = ""
        self._label = ""
        self._header: HeaderSyntax | None = None
        self._header_text = ""
        self._line = LinePosition()
        self._tags = SpelledTags(syntax)

    @property
    def in_header(self) -> bool:
        """The text that comes next names a part and is not part of the message."""
        return self._header is not None

    def push(self, text: str) -> None:
        self._pending += text
        self._scan(final=False)

    def finish(self) -> None:
        """No more text comes: what was held back is not a tag."""
        self._scan(final=True)
        self._decide_space()

    def push_mark(self, mark: Mark | None, text: str) -> Place:
        """A token that is special or a tag passes, with the text it would show."""
        self._scan(final=True)
        place = self._apply(mark) if mark is not None else Place(self.part, None)
        if text:
            self._emit(len(text), place)
            self._line.advance(text.replace("\n", " ").replace("`", " "))
        return place

    def _apply(self, mark: Mark) -> Place:
        match mark.kind:
            case MarkKind.OPENS if mark.pair is not None:
                return self._open(mark.pair)
            case MarkKind.CLOSES if mark.pair is not None:
                return self._close(mark.pair)
            case MarkKind.BEGINS_HEADER:
                self._header_text = f"{self._header_text}\n" if self._header is mark.header else ""
                self._header = mark.header
            case MarkKind.ENDS_HEADER if self._header is not None:
                self._enter(self._header.part_of(self._header_text), None)
                self._header = None
            case _:
                pass
        return Place(self.part, Removal.MARKUP)

    def _open(self, pair: TagPair) -> Place:
        """An opening tag that counts here: a part begins, or inside thinking one more level."""
        if self.part is Part.ANSWER:
            self._enter(pair.part, pair)
            self._label = pair.label
            return Place(self.part, Removal.MARKUP)
        if self.part is Part.THINKING and self._is_own(pair):
            if self._opened_by_prompt and self._at_start and self._pair is None:
                # Some models open once more what their prompt has opened.
                self._pair = pair
                return Place(self.part, Removal.MARKUP)
            # A mention in backticks opens nothing, or the end of thinking would be missed.
            self._depth += not self._line.in_backticks
        return Place(self.part, None)

    def _close(self, pair: TagPair) -> Place:
        """A closing tag that counts here: the part ends, or inside thinking one level. The tag belongs to its part."""
        closed = self.part
        if closed is not Part.ANSWER:
            self._depth -= self._is_own(pair)
            if self._depth > 0:
                return Place(closed, None)
            self._decide_space()
            self._enter(Part.ANSWER, None)
        return Place(closed, Removal.MARKUP)

    def _is_own(self, pair: TagPair) -> bool:
        """The part at hand was opened by this pair, or by the prompt in a way we do not know."""
        return pair.part is self.part if self._pair is None else pair is self._pair

    def _enter(self, part: Part, pair: TagPair | None) -> None:
        self.part, self._pair, self._depth = part, pair, 1
        self._at_start = True
        self._line = LinePosition()

    def _scan(self, *, final: bool) -> None:
        text, at = self._pending, 0
        while at < len(text):
            used = self._consume(text, at, final=final)
            if used == 0:
                break
            at += used
        self._pending = text[at:]

    def _consume(self, text: str, at: int, *, final: bool) -> int:
        """Decide about the text from `at` on; returns how many characters, 0 when more text is needed."""
        if self._label:
            return self._consume_label(text, at, final=final)
        if self.in_header:
            self._header_text += text[at:]
            self._emit(len(text) - at, Place(self.part, Removal.MARKUP))
            return len(text) - at
        found = self._tags.interesting.search(text, at)
        if found is None or found.start() > at:
            return self._keep(text[at : found.start() if found else None])
        if text[at] in "`\n":
            return self._keep(text[at])
        tag, undecided = self._tag_at(text, at, final=final)
        if undecided:
            return 0
        return self._keep(text[at]) if tag is None else self._consume_tag(tag)

    def _consume_tag(self, tag: str) -> int:
        opened = self._syntax.spelled_openings.get(tag)
        place = self._open(opened) if opened is not None else self._close(self._syntax.spelled_closings[tag])
        if place.removed is None:
            return self._keep(tag)
        self._emit(len(tag), place)
        return len(tag)

    def _consume_label(self, text: str, at: int, *, final: bool) -> int:
        label, here = self._label, text[at : at + len(self._label)]
        if len(here) < len(label) and label.startswith(here) and not final:
            return 0
        self._label = ""
        if here == label:
            self._emit(len(label), Place(self.part, Removal.MARKUP))
            return len(label)
        return self._consume(text, at, final=final)

    def _keep(self, text: str) -> int:
        self._line.advance(text)
        if self._at_start and text.isspace() and self._space < _MAX_HELD_SPACE:
            # Space before a tag belongs to what the tag begins.
            self._space += len(text)
        else:
            self._at_start = self._at_start and text.isspace()
            self._emit(len(text), Place(self.part, None))
        return len(text)

    def _tag_at(self, text: str, at: int, *, final: bool) -> tuple[str | None, bool]:
        """The tag that begins at `at` and counts there, with whether more text is needed to tell."""
        here = text[at:]
        candidates = self._candidates()
        if not final and any(len(tag) > len(here) and tag.startswith(here) for tag in candidates):
            return None, True
        tag = max((tag for tag in candidates if here.startswith(tag)), key=len, default=None)
        if tag is None or self.part is not Part.THINKING or not self._line.in_backticks:
            return tag, False
        quoted = closes_quote(here[len(tag) :], final=final)
        return (None if quoted else tag), quoted is None

    def _candidates(self) -> Sequence[str]:
        if self.part is Part.ANSWER:
            at_line = self._line.is_blank and not self._line.in_fence and not self._line.in_backticks
            return self._tags.openings(thinking=self._at_start, tools=at_line)
        if self._pair is None and self._closes_by_token:
            return ()
        return self._tags.of_pair(self._pair)

    def _emit(self, length: int, place: Place) -> None:
        self._decide_space()
        self.decided += length
        self.runs.append(Run(self.decided, place))

    def _decide_space(self) -> None:
        if self._space:
            self.decided += self._space
            self.runs.append(Run(self.decided, Place(self.part, None)))
            self._space = 0

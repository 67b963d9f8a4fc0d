"""A message's text, cut into blocks that are laid out one by one."""

from dataclasses import dataclass
from typing import Final

from engine.contracts import Part

MAX_BLOCK_CHARACTERS: Final = 2_000
"""Qt lays out a line of text as a whole; longer ones are cut here, at a space where there is one."""
_SPACE_SEARCHED: Final = 200


@dataclass(slots=True)
class Block:
    """A paragraph or a stretch of one. `start` counts code points of the message's text; only the last block grows.

    `newline` tells whether a line end, which is not in `text`, follows it in the message.
    """

    start: int
    text: str
    part: Part
    newline: bool = False

    @property
    def end(self) -> int:
        """The offset after the last character of `text`."""
        return self.start + len(self.text)

    @property
    def next_start(self) -> int:
        return self.end + self.newline


class Blocks:
    """Grows by appended text; every block but the last is finished and never changes again."""

    def __init__(self) -> None:
        self._blocks: list[Block] = [Block(0, "", Part.ANSWER)]
        self.characters = 0

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, index: int) -> Block:
        return self._blocks[index]

    def append(self, text: str, part: Part) -> int:
        """Add text of one part; returns the index of the first block that differs from before."""
        first_changed = len(self._blocks) - 1
        self.characters += len(text)
        for number, line in enumerate(text.split("\n")):
            if number:
                self._blocks[-1].newline = True
                self._open(part)
            self._extend(line, part)
        return first_changed

    def text_between(self, start: int, end: int) -> str:
        """The message's text from one code point offset to another; parts stand on lines of their own."""
        pieces: list[str] = []
        for index, block in enumerate(self._blocks):
            if block.next_start <= start or block.start >= end:
                continue
            pieces.append(block.text[max(0, start - block.start) : end - block.start])
            if block.end < end and (block.newline or self._part_ends(index)):
                pieces.append("\n")
        return "".join(pieces)

    def index_at(self, offset: int) -> int:
        """The block that holds the character at `offset`."""
        low, high = 0, len(self._blocks) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._blocks[middle].start <= offset else (low, middle - 1)
        return low

    def _part_ends(self, index: int) -> bool:
        return index + 1 < len(self._blocks) and self._blocks[index + 1].part is not self._blocks[index].part

    def _open(self, part: Part) -> None:
        self._blocks.append(Block(self._blocks[-1].next_start, "", part))

    def _extend(self, line: str, part: Part) -> None:
        if not line:
            return
        tail = self._blocks[-1]
        if tail.part is not part:
            if tail.text:
                self._open(part)
            else:
                tail.part = part
        self._blocks[-1].text += line
        if len(self._blocks[-1].text) > MAX_BLOCK_CHARACTERS:
            self._cut(part)

    def _cut(self, part: Part) -> None:
        """Spread an overlong tail over as many blocks as it needs, in one pass."""
        rest = self._blocks[-1].text
        while len(rest) > MAX_BLOCK_CHARACTERS:
            space = rest.rfind(" ", MAX_BLOCK_CHARACTERS - _SPACE_SEARCHED, MAX_BLOCK_CHARACTERS)
            length = space + 1 if space >= 0 else MAX_BLOCK_CHARACTERS
            self._blocks[-1].text, rest = rest[:length], rest[length:]
            self._open(part)
            self._blocks[-1].text = rest

"""Where a text stands on its line: in backticks, in a fence, or at the beginning."""

from typing import Final

_LOOKAHEAD: Final = 40
_FENCE: Final = 3


class LinePosition:
    """Follows a text that grows, to tell a tag from a mere mention of it."""

    def __init__(self) -> None:
        self.is_blank = True
        """Only white space so far on this line."""
        self.in_fence = False
        self._ticks = 0

    def advance(self, text: str) -> None:
        """Take text that is one backtick, one line break, or holds neither."""
        if text == "\n":
            self.is_blank, self._ticks = True, 0
        elif text == "`":
            self._ticks += 1
            if self.is_blank and self._ticks == _FENCE:
                self.in_fence = not self.in_fence
        elif text.strip():
            self.is_blank = False

    @property
    def in_backticks(self) -> bool:
        """An odd number of backticks has come before on this line."""
        return self._ticks % 2 == 1


def closes_quote(following: str, *, final: bool) -> bool | None:
    """Whether the quote that is open is closed again soon on the same line; None: too early to tell."""
    near = following[:_LOOKAHEAD]
    for character in near:
        if character == "`":
            return True
        if character == "\n":
            return False
    return False if final or len(following) >= _LOOKAHEAD else None

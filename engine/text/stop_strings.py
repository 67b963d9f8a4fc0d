"""Finds stop strings in a text that grows."""

from collections.abc import Sequence


class StopString:
    """One stop string with the length of its beginning that the text ends with (Knuth, Morris and Pratt, 1977)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.matched = 0
        self._fallback = _fallbacks(text)

    def advance(self, character: str) -> bool:
        """Take one more character; True when the string is complete."""
        while self.matched and self.text[self.matched] != character:
            self.matched = self._fallback[self.matched - 1]
        if self.text[self.matched] == character:
            self.matched += 1
        return self.matched == len(self.text)


class StopMatcher:
    """Tells where the first stop string begins, and up to where the text can no longer become part of one.

    The string that is complete first wins; of two that end together, the longer. Offsets are code points of all text
    pushed. Cost is linear in the text for each stop string.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self._strings = [StopString(text) for text in dict.fromkeys(stop) if text]
        self._seen = 0
        self.start: int | None = None

    @property
    def decided(self) -> int:
        """Text before this offset is free of stop strings."""
        if self.start is not None:
            return self.start
        return self._seen - max((string.matched for string in self._strings), default=0)

    def push(self, text: str, *, hidden: bool = False) -> None:
        """More text; what is `hidden` only counts for the offsets."""
        if self.start is not None or hidden or not self._strings:
            self._seen += len(text)
            return
        for character in text:
            self._seen += 1
            complete = [len(string.text) for string in self._strings if string.advance(character)]
            if complete:
                self.start = self._seen - max(complete)
                return

    def push_marker(self, content: str, *, divides: bool) -> bool:
        """A token that is a marker passes; returns whether it is itself what the caller wants to stop at.

        No match spans a token that `divides` two parts of the message, because the parts are shown apart.
        """
        if divides:
            for string in self._strings:
                string.matched = 0
        wanted = self.start is None and any(string.text == content for string in self._strings)
        if wanted:
            self.start = self._seen
        return wanted


def _fallbacks(text: str) -> list[int]:
    """For each prefix of `text`, the length of its longest proper prefix that is also its suffix."""
    lengths = [0] * len(text)
    length = 0
    for index in range(1, len(text)):
        while length and text[index] != text[length]:
            length = lengths[length - 1]
        if text[index] == text[length]:
            length += 1
        lengths[index] = length
    return lengths

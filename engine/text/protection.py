"""Keeps a user's text from ever becoming control tokens.

Two measures, neither of which looks for dangerous text:

1. In our copy of the tokenizer every control token has a random name that no one outside can know. Whatever text is
   encoded, `<|im_end|>` in it is ten ordinary characters.
2. While the chat template renders, the characters that control tokens begin or end with are replaced, inside the
   users' texts, by lone surrogates, one for one. Valid text cannot contain those, so every marker spelled in the
   rendering was written by the template. These, and only these, get the random names; then the characters come back.

The whole rendering is then encoded in one call. So for texts without markers the tokens are exactly the library's own
for the same rendering, merges over the border between template and text included, and `strip`, `trim`, `length` or
slices in a template work on the real text.
"""

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from engine.text.vocabulary import AddedToken

_FIRST_STAND_IN: Final = 0xD800
END_OF_CONTENT: Final = "\udfff"
"""A surrogate that marks where a text to be continued ends."""


class ControlNames:
    """The random names of one tokenizer's control tokens."""

    def __init__(self, control: Sequence[AddedToken]) -> None:
        secret = secrets.token_hex(8)
        # No name is the beginning of another, and no normalizer changes it.
        self._names = {token.content: f"{secret}x{token.id}x" for token in control}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        self._beginnings = {name[0] for name in self._names}

    def spell_markers(self, rendered: str) -> str:
        """The rendering with every control token in it under its random name."""
        parts, done = [], 0
        for place in sorted(self._possible_beginnings(rendered)):
            if place >= done and (marker := self._pattern.match(rendered, place)):
                parts += [rendered[done:place], self._names[marker[0]]]
                done = marker.end()
        return "".join([*parts, rendered[done:]])

    def _possible_beginnings(self, rendered: str) -> Iterator[int]:
        """Protected texts hold none, so the search jumps over them, however long they are."""
        for beginning in self._beginnings:
            place = rendered.find(beginning)
            while place >= 0:
                yield place
                place = rendered.find(beginning, place + 1)

    def reveal(self, text: str) -> str:
        """`text` as the library decoded it, with the control tokens under their own names."""
        for content, name in self._names.items():
            if name in text:
                text = text.replace(name, content)
        return text

    def rename(self, tokenizer: dict[str, Any]) -> None:
        """Give the control tokens of a parsed `tokenizer.json` their random names, in place."""
        for entry in tokenizer.get("added_tokens") or ():
            entry["content"] = self._names.get(entry["content"], entry["content"])
        model = tokenizer["model"]
        renamed = self._rename_vocabulary(model["vocab"])
        if model.get("unk_token") in renamed:
            model["unk_token"] = self._names[model["unk_token"]]
        if renamed and model.get("merges"):
            model["merges"] = [merge for merge in model["merges"] if renamed.isdisjoint(_merged(merge))]

    def _rename_vocabulary(self, vocabulary: dict[str, int] | list[list[Any]]) -> set[str]:
        """Rename the entries that are control tokens; returns their old names."""
        if isinstance(vocabulary, dict):
            renamed = self._names.keys() & vocabulary.keys()
            for name in renamed:
                vocabulary[self._names[name]] = vocabulary.pop(name)
            return renamed
        entries = [entry for entry in vocabulary if entry[0] in self._names]
        renamed = {entry[0] for entry in entries}
        for entry in entries:
            entry[0] = self._names[entry[0]]
        return renamed


def _merged(merge: str | Sequence[str]) -> tuple[str, str, str]:
    """What a BPE merge joins, with the result."""
    left, right = merge.split(" ") if isinstance(merge, str) else merge
    return left, right, left + right


class StandIns:
    """Swaps the characters that markers begin or end with for lone surrogates, and back."""

    def __init__(self, markers: Iterable[str]) -> None:
        ends = sorted({end for marker in markers for end in _ends(marker)})
        if len(ends) >= ord(END_OF_CONTENT) - _FIRST_STAND_IN:
            raise ValueError("more control characters than stand-ins")
        self._pairs = [(end, chr(_FIRST_STAND_IN + place)) for place, end in enumerate(ends)]

    def protect(self, text: str) -> str:
        """`text` as the template may see it; lone surrogates already in it become U+FFFD, for they are not text."""
        protected = well_formed(text)
        for character, stand_in in self._pairs:
            protected = protected.replace(character, stand_in)
        return protected

    def restore(self, text: str) -> str:
        for character, stand_in in self._pairs:
            text = text.replace(stand_in, character)
        return text


def well_formed(text: str) -> str:
    """Text that UTF-8 can carry: surrogate pairs joined, lone ones replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _ends(marker: str) -> str:
    visible = marker.strip()
    return visible[:1] + visible[-1:]

"""Which spelled tags can count at a place in the text."""

import re
from collections.abc import Sequence

from engine.contracts import Part
from engine.text.tags import TagPair, TagSyntax


class SpelledTags:
    """The tags of one model that are not tokens of their own, by where they count; asked once for each candidate."""

    def __init__(self, syntax: TagSyntax) -> None:
        tags = {**syntax.spelled_openings, **syntax.spelled_closings}
        openings = syntax.spelled_openings
        thinking = tuple(tag for tag, pair in openings.items() if pair.part is Part.THINKING)
        tools = tuple(tag for tag, pair in openings.items() if pair.part is Part.TOOL_CALL)
        self._openings = {
            (False, False): (),
            (True, False): thinking,
            (False, True): tools,
            (True, True): thinking + tools,
        }
        self._of_pair: dict[TagPair | None, tuple[str, ...]] = {
            None: tuple(tag for tag, pair in tags.items() if pair.part is Part.THINKING)
        }
        for tag, pair in tags.items():
            self._of_pair[pair] = (*self._of_pair.get(pair, ()), tag)
        self.interesting = re.compile("[`\n" + re.escape("".join(sorted({tag[0] for tag in tags}))) + "]")

    def openings(self, *, thinking: bool, tools: bool) -> Sequence[str]:
        return self._openings[thinking, tools]

    def of_pair(self, pair: TagPair | None) -> Sequence[str]:
        """The opening and the closing of `pair`; None is thinking that the prompt opened, in whatever way."""
        return self._of_pair.get(pair, ())

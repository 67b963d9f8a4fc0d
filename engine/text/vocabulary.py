"""What a tokenizer's added tokens are: control tokens or mere text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_BYTE_NAME: Final = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_BRACKETS: Final = frozenset("<>[]{}|\uff5c\u25c1\u25b7")
_HTML: Final = re.compile(
    r"</?(?:a|b|big|blockquote|br|caption|code|col|dd|del|div|dl|dt|em|h[1-6]|hr|i|img|ins|li|mark|ol|p|pre|q|s|small"
    r"|span|strong|strike|sub|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul)/?>"
)


@dataclass(frozen=True, slots=True)
class AddedToken:
    """One entry of `added_tokens`: the tokenizer finds it in any text before it does anything else."""

    id: int
    content: str
    special: bool

    @property
    def is_control(self) -> bool:
        """Whether it steers the model, so that a user's text must never contain it.

        Some families declare runs of spaces or HTML elements as added tokens; those are ordinary text, and models
        expect them as such. In doubt a token with brackets steers: that costs a typed `<tool>` a few more tokens,
        the opposite costs the user control over the conversation.
        """
        if not self.content or _BYTE_NAME.fullmatch(self.content):
            return False
        if self.special:
            return True
        return not _BRACKETS.isdisjoint(self.content) and not _HTML.fullmatch(self.content)


def read_added_tokens(tokenizer: Mapping[str, Any]) -> tuple[AddedToken, ...]:
    """The added tokens of a parsed `tokenizer.json`. Raises `KeyError`, `TypeError` or `ValueError` when malformed."""
    return tuple(
        AddedToken(id=_token_id(entry["id"]), content=str(entry["content"]), special=bool(entry.get("special", False)))
        for entry in tokenizer.get("added_tokens") or ()
    )


def _token_id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"not a token id: {value!r}")
    return value

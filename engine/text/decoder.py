"""Token ids to text, one at a time, exact to the byte."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.text.characters import CharacterStream


class TokenBytes(Protocol):
    """What the decoder asks of a tokenizer."""

    @property
    def leading_spaces(self) -> int:
        """How many spaces are dropped at the very beginning of a text."""

    def token_bytes(self, token_id: int) -> bytes: ...

    def is_special(self, token_id: int) -> bool: ...

    def bytes_in_context(self, token_id: int, previous: int | None) -> bytes:
        """The bytes that the token adds to a text after `previous`; None at its beginning."""


@dataclass(slots=True)
class DecodedToken:
    """A token whose text is known. `shares_next`: it also holds bytes of the next character, completed later."""

    id: int
    data: bytes
    text: str
    special: bool
    shares_next: bool = False


class TokenDecoder:
    """Gives tokens back, in order, once every character they took part in is complete.

    Special tokens have no text and do not disturb a character around them. When the text `continues` one that was
    there before, nothing is dropped at its beginning. Cost is linear in the bytes.

    A run of SentencePiece byte tokens that is invalid in part keeps its readable characters. The tokenizers library
    marks every byte of such a run, but it knows the whole run; a character shown here is never taken back.
    """

    def __init__(self, tokens: TokenBytes, *, continues: bool) -> None:
        self._tokens = tokens
        self._characters = CharacterStream()
        self._waiting: deque[DecodedToken] = deque()
        self._continues = continues
        self._previous: int | None = None
        self._spaces_to_drop = 0 if continues else tokens.leading_spaces

    def push(self, token_id: int) -> Sequence[DecodedToken]:
        data = self._tokens.token_bytes(token_id)
        if self._tokens.is_special(token_id):
            self._waiting.append(DecodedToken(token_id, data, "", special=True))
            return () if self._characters.is_open else self._take_all()
        added = self._bytes(token_id, data)
        broken, text = self._characters.push(added)
        if broken:
            self._break_character(broken)
        known = self._take_all() if broken or text else []
        shares_next = bool(added) and self._characters.is_open
        self._waiting.append(DecodedToken(token_id, data, text, special=False, shares_next=shares_next))
        return known if self._characters.is_open else known + self._take_all()

    def finish(self) -> Sequence[DecodedToken]:
        """The tokens still waiting; a character that was cut becomes one mark."""
        mark = self._characters.finish()
        if mark:
            self._break_character(mark)
        return self._take_all()

    def _bytes(self, token_id: int, data: bytes) -> bytes:
        if self._previous is None and self._continues:
            added = data
        else:
            added = self._tokens.bytes_in_context(token_id, self._previous)
        self._previous = token_id
        while self._spaces_to_drop and added.startswith(b" "):
            added = added[1:]
            self._spaces_to_drop -= 1
        if added:
            self._spaces_to_drop = 0
        return added

    def _break_character(self, mark: str) -> None:
        """The open character will never be complete: its last token shows the mark."""
        last = next(token for token in reversed(self._waiting) if token.shares_next)
        last.text += mark
        last.shares_next = False

    def _take_all(self) -> list[DecodedToken]:
        taken = list(self._waiting)
        self._waiting.clear()
        return taken

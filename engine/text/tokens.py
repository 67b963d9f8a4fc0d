"""One tokenizer: its control tokens out of everybody's reach, its bytes exact."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
from tokenizers import Tokenizer

from engine.text.protection import ControlNames, StandIns, well_formed
from engine.text.spelling import read_spelling
from engine.text.tags import TagSyntax, read_syntax, spelled_tags
from engine.text.vocabulary import read_added_tokens


class TokenCodec:
    """Encodes renderings and spells tokens. Holds our own copy of the tokenizer, whose control tokens are renamed.

    The library's objects may be used from any thread; encoding releases the interpreter lock.
    """

    def __init__(self, description: dict[str, Any]) -> None:
        """Take over a parsed `tokenizer.json` and change it. Raises whatever a malformed one leads to."""
        added = read_added_tokens(description)
        self.added = {token.content: token.id for token in added}
        control = [token for token in added if token.is_control]
        self._added_names = {token.id: token.content for token in added}
        self._specials = frozenset(token.id for token in added if token.special)
        self._spelling = read_spelling(description.get("decoder"))
        self._names = ControlNames(control)
        self.stand_ins = StandIns([*(token.content for token in control), *spelled_tags()])
        self.syntax: TagSyntax = read_syntax(self.added)
        self._names.rename(description)
        self._library: Tokenizer = Tokenizer.from_str(msgspec.json.encode(description).decode())
        self._library.no_truncation()
        self._library.no_padding()
        self._bytes: dict[int, bytes] = {}
        self.vocabulary_size = 1 + max((*_ids(description["model"]["vocab"]), *self._added_names), default=-1)

    @property
    def leading_spaces(self) -> int:
        return self._spelling.leading_spaces if self._spelling else 0

    def is_special(self, token_id: int) -> bool:
        return token_id in self._specials

    def special_content(self, token_id: int) -> str:
        """How an added token is written; empty for any other."""
        return self._added_names.get(token_id, "")

    def encode_rendering(self, rendered: str) -> list[int]:
        """Encode a rendering whose texts are protected: markers in it are control tokens, the texts are text."""
        return self._encode(self.stand_ins.restore(self._names.spell_markers(rendered)), special=False)

    def encode_text(self, text: str) -> list[int]:
        """Encode plain text as the beginning of a document; nothing in it is a control token."""
        return self._encode(well_formed(text), special=True)

    def token_bytes(self, token_id: int) -> bytes:
        """The token's own bytes; empty for an id that the tokenizer does not know."""
        known = self._bytes.get(token_id)
        if known is None:
            known = self._bytes[token_id] = self._spell(token_id, first=False)
        return known

    def bytes_in_context(self, token_id: int, previous: int | None) -> bytes:
        """The bytes that the token adds to a text after the token `previous`; None at the beginning."""
        if self._spelling is None:
            return self._added_text(token_id, previous).encode()
        return self._spell(token_id, first=True) if previous is None else self.token_bytes(token_id)

    def _encode(self, text: str, *, special: bool) -> list[int]:
        # Of the library's ways to encode, only the batch releases the interpreter lock.
        (encoding,) = self._library.encode_batch_fast([text], add_special_tokens=special)
        ids: list[int] = encoding.ids
        return ids

    def _spell(self, token_id: int, *, first: bool) -> bytes:
        name = self._added_names.get(token_id)
        if name is not None and token_id in self._specials:
            return name.encode()
        if self._spelling is None:
            return self._added_text(token_id, self._anchor).encode()
        if name is None:
            name = self._library.id_to_token(token_id)
        return b"" if name is None else self._spelling.spell(name, first=first)

    @cached_property
    def _anchor(self) -> int | None:
        """Some ordinary token, to see what the library's decoder does with another one after it."""
        ordinary = (number for number in range(self.vocabulary_size) if number not in self._added_names)
        return next((number for number in ordinary if self._decode([number])), None)

    def _added_text(self, token_id: int, previous: int | None) -> str:
        """What the library's own decoder adds to a text for one more token.

        Such a decoder joins words or drops marks depending on the token before, never on more.
        """
        text = self._decode([token_id])
        if previous is not None:
            before, both = self._decode([previous]), self._decode([previous, token_id])
            text = both[len(before) :] if both.startswith(before) else text
        return self._names.reveal(text) if token_id in self._added_names else text

    def _decode(self, token_ids: Sequence[int]) -> str:
        text: str = self._library.decode(token_ids, skip_special_tokens=False)
        return text


def _ids(vocabulary: Mapping[str, int] | Sequence[object]) -> Iterable[int]:
    """The ids of a model's vocabulary; a Unigram model's are places in a list."""
    return vocabulary.values() if isinstance(vocabulary, Mapping) else range(len(vocabulary))

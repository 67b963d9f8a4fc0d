"""A tokenizer whose tokens a test writes down itself."""

from collections.abc import Collection, Sequence
from typing import Self

from engine.text.tags import TagSyntax, read_syntax


class ScriptedTokens:
    """Each different spelling is one token, and `ids` is the script. Added tokens with a known spelling are tags."""

    leading_spaces = 0

    def __init__(self, script: Sequence[bytes], special: Collection[str], added: Collection[str]) -> None:
        data = list(dict.fromkeys(script))
        self._data = data
        self._special = {number for number, spelled in enumerate(data) if spelled.decode(errors="replace") in special}
        names = {spelled.decode(errors="replace"): number for number, spelled in enumerate(data)}
        self._added = {name: names[name] for name in {*special, *added} if name in names}
        self.syntax: TagSyntax = read_syntax(self._added)
        self.ids = [data.index(spelled) for spelled in script]

    @classmethod
    def of_texts(cls, *texts: str, special: Collection[str] = (), added: Collection[str] = ()) -> Self:
        return cls([text.encode() for text in texts], special, added)

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        return cls([bytes([byte]) for byte in data], (), ())

    def token_bytes(self, token_id: int) -> bytes:
        return self._data[token_id] if token_id < len(self._data) else b""

    def bytes_in_context(self, token_id: int, previous: int | None) -> bytes:
        return self.token_bytes(token_id)

    def is_special(self, token_id: int) -> bool:
        return token_id in self._special

    def special_content(self, token_id: int) -> str:
        return next((name for name, number in self._added.items() if number == token_id), "")

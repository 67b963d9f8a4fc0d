"""The bytes each vocabulary entry stands for, read from the tokenizer's own decoder description."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

_BYTE_NAME: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPACE_MARK: Final = "\u2581"


class Spelling(Protocol):
    """Turns an entry's name into bytes. `first` says that it begins the text, where some decoders drop a space."""

    @property
    def leading_spaces(self) -> int:
        """How many spaces the decoder takes away at the very beginning of a text."""

    def spell(self, name: str, *, first: bool) -> bytes: ...


class ByteLevelSpelling:
    """Every character of a name is one byte (the GPT-2 alphabet)."""

    leading_spaces = 0

    def spell(self, name: str, *, first: bool) -> bytes:  # noqa: ARG002 - a byte is a byte anywhere
        try:
            return bytes(map(_BYTE_OF.__getitem__, name))
        except KeyError:
            # The library takes a name outside the alphabet for plain text.
            return name.encode()


class PieceSpelling:
    """SentencePiece: names are text with visible spaces, and single bytes are written `<0x0A>`."""

    def __init__(self, replacements: Mapping[str, str], *, has_bytes: bool, leading_spaces: int, first: str) -> None:
        self.leading_spaces = leading_spaces
        self._replacements = replacements
        self._has_bytes = has_bytes
        self._dropped_at_start = first

    def spell(self, name: str, *, first: bool) -> bytes:
        if self._has_bytes and (byte := _BYTE_NAME.fullmatch(name)):
            return bytes.fromhex(byte[1])
        if first and self._dropped_at_start:
            name = name.replace(self._dropped_at_start, "")
        for old, new in self._replacements.items():
            name = name.replace(old, new)
        return name.encode()


def read_spelling(decoder: Mapping[str, Any] | None) -> Spelling | None:
    """The spelling that `tokenizer.json` describes under `decoder`, or None when only the library itself knows it."""
    steps = _steps(decoder)
    kinds = {str(step.get("type")) for step in steps}
    if "ByteLevel" in kinds:
        return ByteLevelSpelling() if kinds <= {"ByteLevel", "Fuse"} else None
    reading = _PieceReading()
    return reading.spelling() if steps and all(map(reading.accept, steps)) else None


def _steps(decoder: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if decoder is None:
        return []
    if decoder.get("type") == "Sequence":
        return [step for inner in decoder.get("decoders", ()) for step in _steps(inner)]
    return [decoder]


class _PieceReading:
    """Goes through the steps of a SentencePiece decoder; refuses what would need more than one token to know."""

    def __init__(self) -> None:
        self._replacements: dict[str, str] = {}
        self._has_bytes = False
        self._fused = False
        self._leading_spaces = 0
        self._first = ""
        self._readers: dict[str, Callable[[Mapping[str, Any]], bool]] = {
            "Replace": self._read_replace,
            "ByteFallback": self._read_bytes,
            "Fuse": self._read_fuse,
            "Strip": self._read_strip,
            "Metaspace": self._read_metaspace,
        }

    def accept(self, step: Mapping[str, Any]) -> bool:
        reader = self._readers.get(str(step.get("type")))
        return reader is not None and reader(step)

    def spelling(self) -> PieceSpelling:
        return PieceSpelling(
            self._replacements, has_bytes=self._has_bytes, leading_spaces=self._leading_spaces, first=self._first
        )

    def _read_replace(self, step: Mapping[str, Any]) -> bool:
        old, new = step.get("pattern", {}).get("String"), step.get("content")
        if self._fused or not isinstance(old, str) or not old or not isinstance(new, str):
            return False
        self._replacements[old] = new
        return True

    def _read_bytes(self, _step: Mapping[str, Any]) -> bool:
        self._has_bytes = True
        return not self._fused

    def _read_fuse(self, _step: Mapping[str, Any]) -> bool:
        self._fused = True
        return True

    def _read_strip(self, step: Mapping[str, Any]) -> bool:
        self._leading_spaces = int(step.get("start", 0))
        return self._fused and step.get("content") == " " and not step.get("stop")

    def _read_metaspace(self, step: Mapping[str, Any]) -> bool:
        mark = step.get("replacement", _SPACE_MARK)
        self._replacements[mark] = " "
        scheme = step.get("prepend_scheme", "always" if step.get("add_prefix_space", True) else "never")
        # Without a Strip of its own, this decoder drops every mark of the first token.
        self._first = "" if scheme == "never" else mark
        return not self._fused


def _byte_alphabet() -> dict[str, int]:
    """Printable bytes stand for themselves, the others for the characters from U+0100 on, in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


_BYTE_OF: Final = _byte_alphabet()

"""UTF-8 decoding that knows where each character's bytes came from."""

import codecs
from typing import NamedTuple

REPLACEMENT = "\ufffd"


class Decoded(NamedTuple):
    """What one push completed: `broken` belongs to the bytes pushed before, `text` ends with this push's bytes."""

    broken: str
    text: str


class CharacterStream:
    """Turns bytes that arrive in any portions into characters.

    A character is given out once its last byte is there, never before and never as a replacement. Bytes that can no
    longer become a character turn into one U+FFFD for each maximal subpart (Unicode 3.9, as Python and Rust do it).
    """

    def __init__(self) -> None:
        self._open = b""

    @property
    def is_open(self) -> bool:
        """A character has begun and lacks bytes."""
        return self._open != b""

    def push(self, portion: bytes) -> Decoded:
        buffer = self._open + portion
        carried = len(self._open)
        try:
            text, used = _decode_complete(buffer)
        except UnicodeDecodeError as error:
            return self._push_damaged(buffer, carried, error)
        self._open = buffer[used:]
        return Decoded("", text)

    def finish(self) -> str:
        """Give up on the open character: one mark for it, or nothing when none is open."""
        mark = REPLACEMENT if self._open else ""
        self._open = b""
        return mark

    def _push_damaged(self, buffer: bytes, carried: int, error: UnicodeDecodeError) -> Decoded:
        broken = REPLACEMENT if error.end <= carried else ""
        parts = [] if broken else [buffer[: error.start].decode(), REPLACEMENT]
        rest = CharacterStream()
        parts.append(rest._push_rest(buffer[error.end :]))
        self._open = rest._open
        return Decoded(broken, "".join(parts))

    def _push_rest(self, rest: bytes) -> str:
        parts = []
        while True:
            try:
                text, used = _decode_complete(rest)
            except UnicodeDecodeError as error:
                parts += [rest[: error.start].decode(), REPLACEMENT]
                rest = rest[error.end :]
            else:
                self._open = rest[used:]
                return "".join([*parts, text])


def _decode_complete(buffer: bytes) -> tuple[str, int]:
    """The complete characters at the beginning of `buffer`, with their length in bytes; raises for broken ones."""
    text, used = codecs.utf_8_decode(buffer, "strict", False)
    # The codec waits for the end of an encoded surrogate, which only some of its error handlers would accept.
    if buffer[used : used + 1] == b"\xed" and buffer[used + 1 : used + 2] >= b"\xa0":
        raise UnicodeDecodeError("utf-8", buffer, used, used + 1, "surrogates are no characters")
    return text, used

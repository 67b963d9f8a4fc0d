"""A token's text with everything invisible made visible."""

import unicodedata

_MARKS = {" ": "·", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}


def visible_text(token: bytes, limit: int = 48) -> str:
    """Spaces as ·, line ends as ⏎, invisible characters by code point; bytes that are not text in hexadecimal."""
    if not token:
        return "(empty)"
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return " ".join(f"{byte:02X}" for byte in token[:limit])
    shown = "".join(_visible(character) for character in text[:limit])
    return shown + "…" if len(text) > limit else shown


def is_text(token: bytes) -> bool:
    """Whether the bytes are whole characters by themselves."""
    try:
        token.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _visible(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    if unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp", "Zs", "Cn", "Co"}:
        return f"⟨U+{ord(character):04X}⟩"
    return character

"""Offsets in Python's code points and in Qt's UTF-16 units."""

from bisect import bisect_left


class Utf16Index:
    """Converts between both for one text; free of cost where every character is one unit."""

    def __init__(self, text: str) -> None:
        plain = text.isascii() or max(text, default="") <= "\uffff"
        self._wide = [] if plain else [offset for offset, character in enumerate(text) if character > "\uffff"]
        self._wide_units = [offset + index for index, offset in enumerate(self._wide)]

    def to_units(self, code_points: int) -> int:
        """The UTF-16 offset of a code point offset."""
        return code_points + bisect_left(self._wide, code_points)

    def to_code_points(self, units: int) -> int:
        """The code point offset of a UTF-16 offset; one inside a surrogate pair counts as after the character."""
        return units - bisect_left(self._wide_units, units)

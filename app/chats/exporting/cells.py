"""Cells of a table that no spreadsheet takes for a formula.

A text that begins, after any blanks, with one of = + - @ or their full-width forms, or with a tab, line end or
apostrophe, gets an apostrophe in front, after OWASP's "CSV Injection". Taking one leading apostrophe away gives back
what was there: no text that begins with an apostrophe is left without a second one.
"""

from typing import Final

_FORMULA_STARTS: Final = tuple("=+-@＝＋－＠")
_OTHER_STARTS: Final = ("'", "\t", "\r", "\n")


def safe_cell(text: str) -> str:
    """`text` as a cell that stays text."""
    is_unsafe = text.startswith(_OTHER_STARTS) or text.lstrip().startswith(_FORMULA_STARTS)
    return f"'{text}" if is_unsafe else text


def cell_text(cell: str) -> str:
    """The inverse."""
    return cell.removeprefix("'")

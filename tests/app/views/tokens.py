"""Tokens for transcripts, as the text layer would cut them."""

import re
from collections.abc import Iterable

from PySide6.QtCore import QPointF

from app.views.transcript import Transcript
from app.views.transcript.pointing import TokenPlace, token_at
from engine.contracts import Part, TokenPiece


def words(text: str, start: int = 0, part: Part = Part.ANSWER) -> list[TokenPiece]:
    """One token for each word with the space before it, and for each line end."""
    return [
        TokenPiece(index, found.group().encode(), found.group(), start + found.start(), start + found.end(), part)
        for index, found in enumerate(re.finditer(r"\n| ?[^ \n]+| +", text))
    ]


def single_bytes(text: str) -> list[TokenPiece]:
    """One token for each byte; the last of a character's tokens has its text."""
    pieces: list[TokenPiece] = []
    for place, character in enumerate(text):
        encoded = character.encode()
        for number, byte in enumerate(encoded):
            shown = character if number == len(encoded) - 1 else ""
            pieces.append(TokenPiece(len(pieces), bytes([byte]), shown, place, place + 1))
    return pieces


def texts(pieces: Iterable[TokenPiece]) -> list[str]:
    return [piece.text for piece in pieces]


def cells_on_screen(transcript: Transcript) -> list[TokenPlace]:
    """The cells of the viewport as the mouse finds them, in reading order, each once."""
    found: dict[tuple[int, int, float, float], TokenPlace] = {}
    column, last = transcript.page.column, transcript.rows[-1]
    for y in range(0, round(last.top + last.height), 5):
        for x in range(round(column.left), round(column.left + column.width)):
            cell = token_at(transcript.page, transcript.rows, QPointF(x, y), transcript.text_font())
            if cell is not None:
                found.setdefault((cell.message, cell.token, cell.rectangle.x(), cell.rectangle.y()), cell)
    return list(found.values())

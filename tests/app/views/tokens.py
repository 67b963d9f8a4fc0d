"""Tokens for transcripts, as the text layer would cut them."""

import re
from collections.abc import Iterator

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


def cells_on_screen(transcript: Transcript) -> list[TokenPlace]:
    """The cells of the viewport as a mouse finds them that sweeps over every line, in reading order, each once."""
    found: dict[tuple[int, int, float, float], TokenPlace] = {}
    column = transcript.page.column
    for y in _line_middles(transcript):
        for x in range(round(column.left), round(column.left + column.width)):
            cell = token_at(transcript.page, transcript.rows, QPointF(x, y), transcript.text_font())
            if cell is not None:
                found.setdefault((cell.message, cell.token, cell.rectangle.x(), cell.rectangle.y()), cell)
    return list(found.values())


def _line_middles(transcript: Transcript) -> Iterator[float]:
    page = transcript.page
    for row in transcript.rows:
        if page.is_block(row.message, row.row):
            for line in page.layout(row.message, row.row - 1).lines:
                yield page.text_origin(row).y() + line.rect().center().y()
        else:
            yield row.top + row.height / 2

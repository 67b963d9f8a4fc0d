"""The rectangles that stand for tokens."""

from typing import Final, NamedTuple

from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from app.views.transcript.blocks import Block
from app.views.transcript.message import TranscriptMessage
from app.views.transcript.typesetting import BlockLayout
from app.views.visible_text import visible_text

LINE_END_WIDTH: Final = 7.0
_SHOWN_BARE_TOKENS: Final = 6


class TokenCell(NamedTuple):
    """A rectangle of one token; a token that is broken over lines has several."""

    token: int
    rectangle: QRectF


class BareCell(NamedTuple):
    """The cell of a token without text in the answer, with the label painted in it."""

    token: int
    rectangle: QRectF
    label: str


def block_cells(message: TranscriptMessage, block: Block, layout: BlockLayout) -> list[TokenCell]:
    """The cells of a block's tokens, relative to its corner.

    Tokens that share a glyph (the bytes of one character, the parts of one emoji) divide its rectangle evenly.
    """
    cells: list[TokenCell] = []
    for tokens, start, end in _glyph_groups(message, block, layout):
        for rectangle in layout.rectangles(start, end):
            cells.extend(_divided(tokens, rectangle))
    if block.newline:
        corner = layout.end
        rectangle = QRectF(corner.x() + 1, corner.y(), LINE_END_WIDTH, corner.height())
        cells.extend(_divided(message.tokens_between(block.end, block.next_start), rectangle))
    return cells


def bare_cells(message: TranscriptMessage, left: float, metrics: QFontMetricsF) -> list[BareCell]:
    """The cells of the last special tokens, from `left` on, one line high."""
    cells: list[BareCell] = []
    for token in message.bare_tokens[-_SHOWN_BARE_TOKENS:]:
        label = visible_text(message.pieces[token].data, limit=24)
        width = metrics.horizontalAdvance(label) + 10
        cells.append(BareCell(token, QRectF(left, 0.0, width, metrics.height() + 3), label))
        left += width + 4
    return cells


def _glyph_groups(message: TranscriptMessage, block: Block, layout: BlockLayout) -> list[tuple[list[int], int, int]]:
    """Tokens with the stretch of whole glyphs they stand for; tokens whose stretches overlap are one group."""
    groups: list[tuple[list[int], int, int]] = []
    for token in message.tokens_between(block.start, block.end):
        first, last = message.span(token)
        start, end = layout.snapped(max(0, first - block.start), min(len(block.text), last - block.start))
        if groups and start < groups[-1][2]:
            tokens, group_start, group_end = groups[-1]
            groups[-1] = ([*tokens, token], min(group_start, start), max(group_end, end))
        else:
            groups.append(([token], start, end))
    return groups


def _divided(tokens: list[int], rectangle: QRectF) -> list[TokenCell]:
    width = rectangle.width() / max(1, len(tokens))
    return [
        TokenCell(token, QRectF(rectangle.x() + width * place, rectangle.y(), width, rectangle.height()))
        for place, token in enumerate(tokens)
    ]

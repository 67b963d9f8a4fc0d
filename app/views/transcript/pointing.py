"""What stands under a point of the viewport."""

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QFontMetricsF

from app.views.fonts import small_font
from app.views.transcript.cells import TokenCell, bare_cells
from app.views.transcript.flow import PlacedRow
from app.views.transcript.page import Page
from app.views.transcript.painter import note_width
from app.views.transcript.selection import Position


class TokenPlace(NamedTuple):
    """A token's cell in the viewport."""

    message: int
    token: int
    rectangle: QRectF


def row_at(rows: Sequence[PlacedRow], y: float) -> PlacedRow | None:
    """The row at a height, the last one below them all."""
    return next((row for row in rows if y < row.top + row.height), rows[-1] if rows else None)


def position_at(page: Page, rows: Sequence[PlacedRow], point: QPointF) -> Position | None:
    """The gap between characters nearest to a point; None without rows."""
    row = row_at(rows, point.y())
    if row is None:
        return None
    message = page.messages[row.message]
    if not page.is_block(row.message, row.row):
        return Position(row.message, 0 if row.row == 0 else message.length)
    inside = point - page.text_origin(row)
    offset = page.layout(row.message, row.row - 1).offset_at(inside.x(), inside.y())
    return Position(row.message, message.blocks[row.row - 1].start + offset)


def token_at(page: Page, rows: Sequence[PlacedRow], point: QPointF, font: QFont) -> TokenPlace | None:
    """The token whose cell holds the point; `font` is that of messages."""
    row = row_at(rows, point.y())
    if row is None or row.row == 0:
        return None
    origin = page.text_origin(row) if page.is_block(row.message, row.row) else page.footer_rectangle(row).topLeft()
    for cell in _cells(page, row, font):
        if cell.rectangle.contains(point - origin):
            return TokenPlace(row.message, cell.token, cell.rectangle.translated(origin))
    return None


def _cells(page: Page, row: PlacedRow, font: QFont) -> list[TokenCell]:
    if page.is_block(row.message, row.row):
        return page.cells(row)
    message = page.messages[row.message]
    metrics = QFontMetricsF(small_font(font))
    return [TokenCell(c.token, c.rectangle) for c in bare_cells(message, note_width(message, metrics), metrics)]

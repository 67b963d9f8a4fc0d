"""Puts the visible rows of a page on the screen."""

from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QFont, QFontMetricsF, QPainter, QPen

from app.views.fonts import small_font
from app.views.heat import HeatScale
from app.views.theme import Theme
from app.views.transcript.cells import bare_cells
from app.views.transcript.flow import PlacedRow
from app.views.transcript.message import TranscriptMessage
from app.views.transcript.page import BUBBLE_PADDING, PART_INSET, Page
from app.views.transcript.selection import TextSelection
from app.views.transcript.typesetting import BlockLayout, Selection
from engine.contracts import Part, Role

_ROLE_LABELS: Final = {Role.USER: "You", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System prompt"}
_CELL_RADIUS: Final = 2.5


@dataclass(slots=True)
class Look:
    """What changes how a page is painted without laying anything out."""

    theme: Theme
    selection: TextSelection
    heat_shown: bool = False
    hovered: tuple[int, int] | None = None
    """Message and token under the mouse."""


class PagePainter:
    """Paints one frame; made anew for each."""

    def __init__(self, painter: QPainter, page: Page, look: Look, font: QFont) -> None:
        self._painter = painter
        self._page = page
        self._look = look
        self._font = font
        self._small = small_font(font)
        self._scale = HeatScale(look.theme)

    def paint(self, rows: list[PlacedRow]) -> None:
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_bubbles(rows)
        for row in rows:
            message = self._page.messages[row.message]
            if row.row == 0:
                self._paint_header(message, row)
            elif row.row == message.row_count - 1:
                self._paint_footer(message, row)
            else:
                self._paint_block(message, row)

    def _paint_bubbles(self, rows: list[PlacedRow]) -> None:
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(self._look.theme.bubble)
        for index in sorted({row.message for row in rows}):
            if self._page.messages[index].role is Role.USER:
                self._paint_bubble(index, [row for row in rows if row.message == index])

    def _paint_bubble(self, index: int, rows: list[PlacedRow]) -> None:
        """A rounded card whose hidden ends lie outside the viewport."""
        first, last = rows[0], rows[-1]
        top = first.top + first.height - BUBBLE_PADDING if first.row == 0 else first.top - 40
        ends = last.row == self._page.messages[index].row_count - 1
        bottom = last.top + last.height + (0 if ends else 40)
        bubble = self._page.bubble(index)
        self._painter.drawRoundedRect(QRectF(bubble.left, top, bubble.width, bottom - top), 14, 14)

    def _paint_header(self, message: TranscriptMessage, row: PlacedRow) -> None:
        if message.role is Role.USER:
            return
        column, height = self._page.column, self._page.label_height
        label = QFont(self._small)
        label.setWeight(QFont.Weight.DemiBold)
        self._painter.setFont(label)
        self._painter.setPen(self._look.theme.dimmed)
        place = QRectF(column.left, row.top + row.height - height, column.width, height - 4)
        self._painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), _ROLE_LABELS[message.role])

    def _paint_block(self, message: TranscriptMessage, row: PlacedRow) -> None:
        block = message.blocks[row.row - 1]
        layout = self._page.layout(row.message, row.row - 1)
        origin = self._page.text_origin(row)
        if block.part is not Part.ANSWER:
            self._paint_part_rule(row, origin)
        if self._look.heat_shown and message.pieces:
            self._paint_cells(message, row, origin)
        dimmed = block.part is not Part.ANSWER and not self._look.heat_shown
        self._painter.setPen(self._look.theme.dimmed if dimmed else self._look.theme.text)
        layout.draw(self._painter, origin, self._selected(row.message, block.start, block.end))
        if not message.ended and row.row == message.row_count - 2:
            self._paint_caret(layout, origin)

    def _paint_part_rule(self, row: PlacedRow, origin: QPointF) -> None:
        rule = QRectF(origin.x() - PART_INSET, origin.y(), 3, row.top + row.height - origin.y())
        self._painter.fillRect(rule, self._look.theme.border)

    def _paint_cells(self, message: TranscriptMessage, row: PlacedRow, origin: QPointF) -> None:
        for cell in self._page.cells(row):
            self._paint_cell(message, row.message, cell.token, cell.rectangle.translated(origin))

    def _paint_cell(self, message: TranscriptMessage, index: int, token: int, rectangle: QRectF) -> None:
        inner = rectangle.adjusted(0.5, 0, -0.5, 0)
        hovered = self._look.hovered == (index, token)
        self._painter.setPen(QPen(self._look.theme.text, 1.4) if hovered else Qt.PenStyle.NoPen)
        self._painter.setBrush(self._scale.brush(message.logprobs[token]))
        self._painter.drawRoundedRect(inner, _CELL_RADIUS, _CELL_RADIUS)

    def _paint_caret(self, layout: BlockLayout, origin: QPointF) -> None:
        end = layout.end.translated(origin)
        side = end.height() * 0.5
        self._painter.setPen(Qt.PenStyle.NoPen)
        self._painter.setBrush(QBrush(self._look.theme.accent))
        self._painter.drawEllipse(QRectF(end.x() + 5, end.center().y() - side / 2, side, side))

    def _paint_footer(self, message: TranscriptMessage, row: PlacedRow) -> None:
        if message.role is Role.USER:
            return
        place = self._page.footer_rectangle(row)
        self._painter.setFont(self._small)
        if message.note:
            self._painter.setPen(self._look.theme.dimmed)
            self._painter.drawText(place, int(Qt.AlignmentFlag.AlignLeft), message.note)
        if self._look.heat_shown:
            self._paint_bare_cells(message, row, place)

    def _paint_bare_cells(self, message: TranscriptMessage, row: PlacedRow, place: QRectF) -> None:
        metrics = QFontMetricsF(self._small)
        for cell in bare_cells(message, note_width(message, metrics), metrics):
            rectangle = cell.rectangle.translated(place.topLeft())
            self._paint_cell(message, row.message, cell.token, rectangle)
            self._painter.setPen(self._look.theme.text)
            self._painter.drawText(rectangle, int(Qt.AlignmentFlag.AlignCenter), cell.label)

    def _selected(self, message: int, start: int, end: int) -> Selection | None:
        chosen = self._look.selection.within(message, start, end)
        if chosen is None:
            return None
        return chosen[0] - start, chosen[1] - start, self._look.theme.selection, self._look.theme.text


def note_width(message: TranscriptMessage, metrics: QFontMetricsF) -> float:
    """Where the cells after a message's note begin."""
    return metrics.horizontalAdvance(message.note) + 10 if message.note else 0.0

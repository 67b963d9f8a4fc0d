"""Laid-out blocks of text."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QTextCharFormat, QTextLayout, QTextLine, QTextOption

from app.views.transcript.blocks import Block
from app.views.transcript.utf16 import Utf16Index

LINE_SPACING: Final = 1.32
BLANK_LINE: Final = 0.62
KEPT_LAYOUTS: Final = 300
"""More blocks than three screens show; what is farther away is laid out again when it comes near."""

Selection = tuple[int, int, QColor, QColor]
"""First and last offset in a block (code points), background and text colour."""


class BlockLayout:
    """One block broken into lines. Offsets are code points of the block's text, positions pixels from its corner."""

    def __init__(self, block: Block, font: QFont, width: float) -> None:
        self.length = len(block.text)
        self.font = font
        self._index = Utf16Index(block.text)
        self._layout = QTextLayout(block.text, font)
        self._layout.setCacheEnabled(True)
        self._layout.setTextOption(_option(font))
        self.height = self._break_lines(width)

    @property
    def lines(self) -> Iterator[QTextLine]:
        return (self._layout.lineAt(number) for number in range(self._layout.lineCount()))

    @property
    def natural_right(self) -> float:
        """How far the widest line reaches."""
        return max((line.naturalTextRect().right() for line in self.lines), default=0.0)

    @property
    def end(self) -> QRectF:
        """A rectangle without width where the text ends."""
        line = self._layout.lineAt(self._layout.lineCount() - 1)
        x = _x_of(line, self._index.to_units(self.length))
        return QRectF(x, line.y(), 0.0, line.height())

    def draw(self, painter: QPainter, origin: QPointF, selection: Selection | None) -> None:
        """Paint the text in the painter's pen."""
        self._layout.draw(painter, origin, [self._range(selection)] if selection is not None else [])

    def offset_at(self, x: float, y: float) -> int:
        """The gap between characters nearest to a point."""
        line = self._line_at(y)
        return self._index.to_code_points(line.xToCursor(x))

    def line_start_at(self, y: float) -> tuple[int, float]:
        """The first offset of the line at height `y`, and that line's own height position."""
        line = self._line_at(y)
        return self._index.to_code_points(line.textStart()), line.y()

    def top_of(self, offset: int) -> float:
        """The height position of the line that holds `offset`."""
        return self._layout.lineForTextPosition(self._index.to_units(offset)).y()

    def snapped(self, start: int, end: int) -> tuple[int, int]:
        """The stretch widened to whole glyphs: a cursor can stand at both its ends."""
        units_start, units_end = self._index.to_units(start), self._index.to_units(end)
        while units_start > 0 and not self._layout.isValidCursorPosition(units_start):
            units_start -= 1
        last = self._index.to_units(self.length)
        while units_end < last and not self._layout.isValidCursorPosition(units_end):
            units_end += 1
        return self._index.to_code_points(units_start), self._index.to_code_points(units_end)

    def rectangles(self, start: int, end: int) -> list[QRectF]:
        """What the characters from `start` to `end` cover, one rectangle for each line.

        White space at which a line was broken has none, unless there is nothing else.
        """
        units_start, units_end = self._index.to_units(start), self._index.to_units(end)
        covered, seen = [], []
        for line in self.lines:
            left, right = max(units_start, line.textStart()), min(units_end, line.textStart() + line.textLength())
            if left < right:
                edges = sorted((_x_of(line, left), _x_of(line, right)))
                covered.append(QRectF(edges[0], line.y(), edges[1] - edges[0], line.height()))
                seen.append(covered[-1].intersected(line.naturalTextRect()))
        return [rectangle for rectangle in seen if rectangle.width() > 0] or covered

    def _break_lines(self, width: float) -> float:
        metrics = QFontMetricsF(self.font)
        # Whole pixels: lines at broken heights would be unevenly spaced once drawn.
        pitch = round(metrics.height() * LINE_SPACING * (BLANK_LINE if self.length == 0 else 1.0))
        self._layout.beginLayout()
        y = 0.0
        line = self._layout.createLine()
        while line.isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0.0, y + (pitch - line.height()) / 2))
            y += max(pitch, line.height())
            line = self._layout.createLine()
        self._layout.endLayout()
        return y

    def _line_at(self, y: float) -> QTextLine:
        last = self._layout.lineCount() - 1
        number = next((n for n in range(last) if self._layout.lineAt(n + 1).y() > y + 1), last)
        return self._layout.lineAt(number)

    def _range(self, selection: Selection) -> QTextLayout.FormatRange:
        start, end, background, foreground = selection
        chosen = QTextLayout.FormatRange()
        chosen.start = self._index.to_units(start)
        chosen.length = self._index.to_units(end) - chosen.start
        style = QTextCharFormat()
        style.setBackground(background)
        style.setForeground(foreground)
        chosen.format = style
        return chosen


class Typesetter:
    """Lays blocks out and keeps those used last. `layouts_made` counts the work: some things must cause none."""

    def __init__(self) -> None:
        self.layouts_made = 0
        self._kept: OrderedDict[tuple[str, int], BlockLayout] = OrderedDict()

    def layout(self, message: str, index: int, block: Block, font: QFont, width: float) -> BlockLayout:
        """The block's layout; it stays valid until `forget` is called."""
        place = (message, index)
        kept = self._kept.get(place)
        if kept is None:
            kept = self._kept[place] = BlockLayout(block, font, width)
            self.layouts_made += 1
            if len(self._kept) > KEPT_LAYOUTS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(place)
        return kept

    def forget(self, message: str, first_block: int, last_block: int) -> None:
        """Drop the layouts of blocks that changed."""
        for index in range(first_block, last_block + 1):
            self._kept.pop((message, index), None)

    def forget_all(self) -> None:
        self._kept.clear()


def _x_of(line: QTextLine, units: int) -> float:
    """PySide returns the cursor's position with the corrected offset."""
    x: float = line.cursorToX(units)[0]  # type: ignore[index]
    return x


def _option(font: QFont) -> QTextOption:
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    option.setTextDirection(Qt.LayoutDirection.LayoutDirectionAuto)
    option.setTabStopDistance(QFontMetricsF(font).horizontalAdvance(" ") * 4)
    return option

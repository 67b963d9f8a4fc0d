"""A page whose text can be selected and copied."""

from typing import Final

from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget

from app.views.transcript.page_view import PageView
from app.views.transcript.pointing import position_at
from app.views.transcript.selection import Position, word_around

_AUTO_SCROLL_MS: Final = 30


class SelectableView(PageView):
    """Selects by dragging, by double click and altogether; a drag beyond the edge scrolls."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._dragged_to = QPointF()
        self._auto_scroll = QTimer(self, interval=_AUTO_SCROLL_MS)
        self._auto_scroll.timeout.connect(self._drag_on)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)

    def selected_text(self) -> str:
        """In reading order; messages are parted by a blank line."""
        return self.look.selection.text(self.page.messages)

    def copy(self) -> None:
        """Put the selected text on the clipboard."""
        if text := self.selected_text():
            QGuiApplication.clipboard().setText(text)

    def selectAll(self) -> None:  # noqa: N802 - named as in Qt's fields, for the Edit menu
        if self.page.messages:
            last = len(self.page.messages) - 1
            self._select(Position(0, 0), Position(last, self.page.messages[last].length))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        position = position_at(self.page, self.rows, event.position())
        if event.button() != Qt.MouseButton.LeftButton or position is None:
            return
        extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        self._select(self.look.selection.origin if extends else position, position)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._dragged_to = event.position()
            self._extend_to_mouse()
            if self._beyond_edge() and not self._auto_scroll.isActive():
                self._auto_scroll.start()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._auto_scroll.stop()
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        position = position_at(self.page, self.rows, event.position())
        if position is None:
            return
        blocks = self.page.messages[position.message].blocks
        block = blocks[blocks.index_at(position.offset)]
        start, end = word_around(block.text, position.offset - block.start)
        self._select(Position(position.message, block.start + start), Position(position.message, block.start + end))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy", self.copy).setEnabled(not self.look.selection.is_empty)
        menu.addAction("Select All", self.selectAll)
        menu.popup(event.globalPos())

    def _select(self, first: Position, last: Position) -> None:
        self.look.selection.select(first, last)
        self.viewport().update()

    def _extend_to_mouse(self) -> None:
        position = position_at(self.page, self.rows, self._dragged_to)
        if position is not None:
            self._select(self.look.selection.origin, position)

    def _beyond_edge(self) -> float:
        """How many pixels the mouse is above (negative) or below the viewport."""
        y = self._dragged_to.y()
        return y if y < 0 else max(0.0, y - self.viewport().height())

    def _drag_on(self) -> None:
        beyond = self._beyond_edge()
        if not beyond:
            self._auto_scroll.stop()
            return
        self.scroll_by(beyond / 2)
        self._extend_to_mouse()

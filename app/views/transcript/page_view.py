"""A scroll area over a page."""

from typing import Final

from PySide6.QtCore import QEvent, QRect, QRectF, Qt
from PySide6.QtGui import QFont, QKeyEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from app.views.fonts import reading_font
from app.views.greeting import paint_greeting
from app.views.style_sheet import SCROLL_BAR_WIDTH
from app.views.theme import theme_of
from app.views.themed import IconButton
from app.views.transcript.flow import Anchor, PlacedRow
from app.views.transcript.page import Page
from app.views.transcript.painter import Look, PagePainter
from app.views.transcript.scroll import ScrollPosition
from app.views.transcript.selection import TextSelection

_WHEEL_LINES: Final = 3


class PageView(QAbstractScrollArea):
    """Shows the rows that are visible and lays out no others.

    The scroll position is the truth and the scroll bar is derived from it: estimated heights of what nobody has seen
    may be wrong without anything on the screen moving.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.page = Page()
        self.position = ScrollPosition(self.page.flow)
        self.look = Look(theme_of(self.palette()), TextSelection())
        self.rows: list[PlacedRow] = []
        self.jump = self._jump_button()
        self._deriving = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setObjectName("transcript")
        # As wide as the scroll bar, so that the column stands in the middle and nothing moves when the bar gets a use.
        self.setViewportMargins(SCROLL_BAR_WIDTH, 0, 0, 0)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.page.resize(self.viewport().width(), self.text_font())

    def text_font(self) -> QFont:
        """The font of messages: a little larger than that of controls."""
        return reading_font(self.font())

    def jump_to_end(self) -> None:
        """Show the end, and follow it."""
        self.position.follow()
        self.refresh()

    def refresh(self, only_below: float = 0.0) -> None:
        """Place the rows anew; paint from `only_below` on, or everything when the view scrolled. Waits while hidden."""
        if not self.isVisible():
            return
        before = self.rows[:1]
        self.rows = self.position.place(self._height)
        self._derive_scroll_bar()
        self.jump.setHidden(self.position.following or not self.page.messages)
        top = int(only_below) if self.rows[:1] == before else 0
        self.viewport().update(QRect(0, top, self.viewport().width(), self.viewport().height() - top))

    def scroll_by(self, pixels: float) -> None:
        """Scroll down, or up when negative."""
        self.position.move(pixels, self._height)
        self.refresh()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), self.look.theme.page)
        painter.setClipRect(event.rect())
        touched = [row for row in self.rows if QRectF(0, row.top - 4, 9e6, row.height + 8).intersects(event.rect())]
        if not self.page.messages:
            paint_greeting(painter, QRectF(self.viewport().rect()), self.look.theme, self.text_font())
        PagePainter(painter, self.page, self.look, self.text_font()).paint(touched)
        painter.end()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        button = self.jump
        button.move((self.viewport().width() - button.width()) // 2, self.viewport().height() - button.height() - 14)
        if self.viewport().width() != self.page.width:
            self._lay_out_again()
        self.refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.look.theme = theme_of(self.palette())
            self.viewport().update()
        elif event.type() == QEvent.Type.FontChange:
            self._lay_out_again()
            self.refresh()

    def wheelEvent(self, event: QWheelEvent) -> None:
        pixels = float(event.pixelDelta().y())
        if not pixels:
            pixels = event.angleDelta().y() / 120 * _WHEEL_LINES * self.fontMetrics().lineSpacing()
        if pixels:
            self.scroll_by(-pixels)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        line, screen = float(self.fontMetrics().lineSpacing() * 2), self._height * 0.9
        steps: dict[int, float] = {
            Qt.Key.Key_Up: -line,
            Qt.Key.Key_Down: line,
            Qt.Key.Key_PageUp: -screen,
            Qt.Key.Key_PageDown: screen,
            Qt.Key.Key_Space: screen,
        }
        step = steps.get(event.key())
        if event.key() == Qt.Key.Key_Home:
            self._show_anchor(Anchor(0, 0, 0.0))
        elif event.key() == Qt.Key.Key_End:
            self.jump_to_end()
        elif step is not None:
            self.scroll_by(step)
        else:
            super().keyPressEvent(event)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """The user moved the scroll bar: small steps move by pixels, a drag goes to a place."""
        del dx
        if self._deriving:
            return
        bar = self.verticalScrollBar()
        if bar.value() >= bar.maximum():
            self.jump_to_end()
        elif bar.isSliderDown() or abs(dy) > 2 * self._height:
            self._show_anchor(self.page.flow.anchor_at(float(bar.value())))
        else:
            self.scroll_by(float(-dy))

    def _jump_button(self) -> IconButton:
        button = IconButton("down", "Jump to the end", self, role="text")
        button.setObjectName("jumpButton")
        button.setFixedSize(34, 34)
        button.hide()
        button.clicked.connect(self.jump_to_end)
        return button

    @property
    def _height(self) -> float:
        return float(self.viewport().height())

    def _show_anchor(self, anchor: Anchor) -> None:
        self.position.jump_to(anchor, self._height)
        self.refresh()

    def _derive_scroll_bar(self) -> None:
        bar = self.verticalScrollBar()
        self._deriving = True
        highest = max(0, round(self.page.flow.total() - self._height))
        bar.setRange(0, highest)
        bar.setPageStep(round(self._height))
        bar.setSingleStep(self.fontMetrics().lineSpacing() * 2)
        if not bar.isSliderDown():
            above = self.page.flow.position_of(self.position.anchor)
            bar.setValue(highest if self.position.following else round(above))
        self._deriving = False

    def _lay_out_again(self) -> None:
        """Use the viewport's width and font; the line at the top stays at the top."""
        anchor, width = self.position.anchor, self.viewport().width()
        is_on_text = bool(self.page.messages) and self.page.is_block(anchor.message, anchor.row)
        if self.position.following or not is_on_text:
            self.page.resize(width, self.text_font())
            return
        offset, before = self.page.layout(anchor.message, anchor.row - 1).line_start_at(anchor.hidden)
        self.page.resize(width, self.text_font())
        after = self.page.layout(anchor.message, anchor.row - 1).top_of(offset)
        self.position.anchor = anchor._replace(hidden=max(0.0, anchor.hidden + after - before))

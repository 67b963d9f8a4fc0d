"""The card that says how sure the model was of a token."""

from typing import Final

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.views.theme import Theme, theme_of
from app.views.token_summary import Alternative, TokenSummary, summarise
from app.views.transcript import HoveredToken

_WIDTH: Final = 300.0
_SHADOW: Final = 12.0
_PADDING: Final = 14.0
_GAP: Final = 8.0
_ROW: Final = 1.55
"""Height of a line in the list, in heights of the font."""


class TokenCard(QWidget):
    """Floats beside a token inside its pane; the mouse passes through it."""

    def __init__(self, pane: QWidget) -> None:
        super().__init__(pane)
        self._pane = pane
        self._summary: TokenSummary | None = None
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    @property
    def summary(self) -> TokenSummary | None:
        """What the card shows, or None while it is hidden."""
        return self._summary

    def show_token(self, hovered: HoveredToken | None, viewport: QWidget) -> None:
        """Stand beside the token's cell (in `viewport`), or hide."""
        self._summary = summarise(hovered.piece, hovered.logprobs) if hovered is not None else None
        self.setHidden(self._summary is None)
        if hovered is None or self._summary is None:
            return
        self.setAccessibleName(self._summary.sentence)
        self.resize(round(_WIDTH + 2 * _SHADOW), round(self._content_height(self._summary) + 2 * (_SHADOW + _PADDING)))
        self.move(self._corner_beside(QRect(viewport.mapTo(self._pane, hovered.place.topLeft()), hovered.place.size())))
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        if self._summary is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = theme_of(self.palette())
        card = QRectF(self.rect()).adjusted(_SHADOW, _SHADOW, -_SHADOW, -_SHADOW)
        _paint_surface(painter, theme, card)
        inside = card.adjusted(_PADDING, _PADDING, -_PADDING, -_PADDING)
        _Lines(painter, theme, self.font(), inside).paint(self._summary)
        painter.end()

    def _content_height(self, summary: TokenSummary) -> float:
        line = QFontMetricsF(self.font()).height()
        head = _title_height(self.font()) + line * 1.3
        facts = line * 1.3 * len(summary.facts)
        if not summary.alternatives:
            return head + facts
        rows = len(summary.alternatives) + (summary.rest is not None)
        return head + facts + 2 * _GAP + rows * line * _ROW

    def _corner_beside(self, cell: QRect) -> QPoint:
        """Below the cell, above it where there is no room, and never outside the pane."""
        shadow = round(_SHADOW)
        below = cell.bottom() + 6 - shadow
        above = cell.top() - 6 - self.height() + shadow
        y = below if below + self.height() - shadow <= self._pane.height() or above < -shadow else above
        highest_x = self._pane.width() - self.width() + shadow
        highest_y = self._pane.height() - self.height() + shadow
        return QPoint(max(-shadow, min(cell.left() - shadow, highest_x)), max(-shadow, min(y, highest_y)))


class _Lines:
    """Paints a summary from top to bottom."""

    def __init__(self, painter: QPainter, theme: Theme, font: QFont, inside: QRectF) -> None:
        self._painter = painter
        self._theme = theme
        self._font = font
        self._inside = inside
        self._y = inside.top()
        self._line = QFontMetricsF(font).height()

    def paint(self, summary: TokenSummary) -> None:
        self._title(summary)
        self._pair(summary.kind, "model probability", self._theme.dimmed, self._theme.dimmed)
        for name, value in summary.facts:
            self._pair(name, value, self._theme.dimmed, self._theme.text)
        if not summary.alternatives:
            return
        self._rule()
        for alternative in summary.alternatives:
            self._alternative(alternative)
        if summary.rest is not None:
            self._row("everything else", summary.rest, self._theme.dimmed)

    def _title(self, summary: TokenSummary) -> None:
        font = _title_font(self._font)
        height = _title_height(self._font)
        place = QRectF(self._inside.left(), self._y, self._inside.width(), height)
        self._text(place, summary.percent, font, self._theme.text, right=True)
        taken = QFontMetricsF(font).horizontalAdvance(summary.percent) + 12
        label = place.adjusted(0, 0, -taken, 0)
        shown = QFontMetricsF(font).elidedText(summary.label, Qt.TextElideMode.ElideRight, label.width())
        self._text(label, shown, font, self._theme.text)
        self._y += height

    def _pair(self, left: str, right: str, left_colour: QColor, right_colour: QColor) -> None:
        place = QRectF(self._inside.left(), self._y, self._inside.width(), self._line * 1.3)
        self._text(place, left, self._font, left_colour)
        self._text(place, right, self._font, right_colour, right=True)
        self._y += place.height()

    def _rule(self) -> None:
        self._y += _GAP
        self._painter.setPen(self._theme.border)
        self._painter.drawLine(QPointF(self._inside.left(), self._y), QPointF(self._inside.right(), self._y))
        self._y += _GAP

    def _alternative(self, alternative: Alternative) -> None:
        left, top = round(self._inside.left()) - 5.5, round(self._y) + 1.5  # on pixels' centres: sharp outlines
        place = QRectF(left, top, round(self._inside.width()) + 11, round(self._line * _ROW) - 3)
        self._painter.setPen(Qt.PenStyle.NoPen)
        bar = QRectF(place.left(), place.top(), max(2.0, place.width() * alternative.share), place.height())
        self._painter.setBrush(self._theme.bar)
        self._painter.drawRoundedRect(bar, 4, 4)
        if alternative.chosen:
            self._painter.setPen(self._theme.accent)
            self._painter.setBrush(Qt.BrushStyle.NoBrush)
            self._painter.drawRoundedRect(place, 5, 5)
        label = f"{alternative.label}  ({alternative.note})" if alternative.note else alternative.label
        self._row(label, alternative.percent, self._theme.text, bold=alternative.chosen)

    def _row(self, left: str, right: str, colour: QColor, *, bold: bool = False) -> None:
        place = QRectF(self._inside.left(), self._y, self._inside.width(), self._line * _ROW)
        font = QFont(self._font)
        font.setBold(bold)
        self._text(place, left, font, colour)
        self._text(place, right, font, colour, right=True)
        self._y += place.height()

    def _text(self, place: QRectF, text: str, font: QFont, colour: QColor, *, right: bool = False) -> None:
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        self._painter.setFont(font)
        self._painter.setPen(colour)
        self._painter.drawText(place, int(side | Qt.AlignmentFlag.AlignVCenter), text)


def _paint_surface(painter: QPainter, theme: Theme, card: QRectF) -> None:
    """A rounded card over a soft shadow."""
    painter.setPen(Qt.PenStyle.NoPen)
    shade = QColor(theme.shadow)
    shade.setAlpha(max(1, theme.shadow.alpha() // 9))
    painter.setBrush(shade)
    for spread in range(1, 9):
        painter.drawRoundedRect(card.adjusted(-spread, -spread + 2, spread, spread + 2), 10 + spread, 10 + spread)
    painter.setPen(theme.border)
    painter.setBrush(theme.raised)
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 10, 10)


def _title_font(font: QFont) -> QFont:
    title = QFont(font)
    title.setPointSizeF(font.pointSizeF() * 1.4)
    title.setWeight(QFont.Weight.DemiBold)
    return title


def _title_height(font: QFont) -> float:
    return QFontMetricsF(_title_font(font)).height() + 2

"""What the heatmap's colours mean."""

from typing import Final

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.fonts import small_font
from app.views.heat import HeatScale
from app.views.theme import theme_of
from engine.contracts import TokenLogprobs

_STEPS: Final = 48
_BAR: Final = 128.0
_HEIGHT: Final = 10.0
_TITLE: Final = "Model probability"
_UNMEASURED: Final = "not measured"


class HeatLegend(QWidget):
    """A scale from 0 % to 100 % in the heatmap's colours, with the pattern of what was not measured."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFont(small_font(self.font()))
        self.setAccessibleName("Heatmap legend: model probability of each token, from 0 % (strong) to 100 % (pale)")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self.font())
        texts = sum(metrics.horizontalAdvance(text) for text in (_TITLE, "0 %", "100 %", _UNMEASURED))
        return QSize(round(texts + _BAR + 66), round(metrics.height() + 8))

    def paintEvent(self, event: QPaintEvent) -> None:
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme = theme_of(self.palette())
        scale = HeatScale(theme)
        x = self._text(painter, 0.0, _TITLE) + 10
        x = self._text(painter, x, "0 %") + 6
        middle = self.height() / 2
        width = _BAR / _STEPS
        painter.setPen(Qt.PenStyle.NoPen)
        for step in range(_STEPS):
            cell = QRectF(x + step * width, middle - _HEIGHT / 2, width + 0.5, _HEIGHT)
            painter.fillRect(cell, scale.colour(step / (_STEPS - 1)))
        x = self._text(painter, x + _BAR + 6, "100 %") + 14
        swatch = QRectF(x, middle - _HEIGHT / 2, 18, _HEIGHT)
        painter.fillRect(swatch, scale.brush(TokenLogprobs()))
        self._text(painter, x + 24, _UNMEASURED)

    def _text(self, painter: QPainter, x: float, text: str) -> float:
        """Paint a text and return where it ends."""
        width = QFontMetricsF(self.font()).horizontalAdvance(text)
        painter.setPen(theme_of(self.palette()).dimmed)
        painter.drawText(QRectF(x, 0, width + 1, self.height()), int(Qt.AlignmentFlag.AlignVCenter), text)
        return x + width

"""What an empty conversation shows."""

from typing import Final

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter

from app.views.theme import Theme

_TITLE: Final = "Ask the model anything"
_LINES: Final = (
    "It answers on this machine; nothing you write leaves it.",
    "Switch the heatmap on to see how sure it was of every token.",
)


def paint_greeting(painter: QPainter, area: QRectF, theme: Theme, font: QFont) -> None:
    """Centre a title and two lines in `area`."""
    title = QFont(font)
    title.setPointSizeF(font.pointSizeF() * 1.55)
    title.setWeight(QFont.Weight.DemiBold)
    title_height = QFontMetricsF(title).height() * 1.5
    pitch = QFontMetricsF(font).height() * 1.35
    top = area.center().y() - (title_height + pitch * len(_LINES)) / 2
    centred = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter)
    painter.setFont(title)
    painter.setPen(theme.text)
    painter.drawText(QRectF(area.left(), top, area.width(), title_height), centred, _TITLE)
    painter.setFont(font)
    painter.setPen(theme.dimmed)
    for number, line in enumerate(_LINES):
        place = QRectF(area.left(), top + title_height + number * pitch, area.width(), pitch)
        painter.drawText(place, centred, line)

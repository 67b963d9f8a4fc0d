"""Candor's own icons, drawn in the theme's colours."""

from functools import lru_cache
from pathlib import Path
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

ICON_FOLDER: Final = Path(__file__).resolve().parents[2] / "resources" / "icons"
_SCALES: Final = (1, 2, 3)


def icon(name: str, colour: QColor, size: int = 18) -> QIcon:
    """The icon `resources/icons/<name>.svg`, its `currentColor` replaced by `colour`; `size` in logical pixels."""
    return _drawn(name, colour.name(), size)


@lru_cache(maxsize=256)
def _drawn(name: str, colour: str, size: int) -> QIcon:
    source = (ICON_FOLDER / f"{name}.svg").read_text(encoding="utf-8").replace("currentColor", colour)
    renderer = QSvgRenderer(QByteArray(source.encode()))
    drawn = QIcon()
    for scale in _SCALES:
        drawn.addPixmap(_pixmap(renderer, size, scale))
    return drawn


def _pixmap(renderer: QSvgRenderer, size: int, scale: int) -> QPixmap:
    pixmap = QPixmap(QSize(size * scale, size * scale))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(pixmap.rect()))
    painter.end()
    pixmap.setDevicePixelRatio(scale)
    return pixmap

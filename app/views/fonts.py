"""The sizes of text, all relative to the system's own font."""

from typing import Final

from PySide6.QtGui import QFont

_READING: Final = 1.1
_SMALL: Final = 0.82


def reading_font(font: QFont) -> QFont:
    """The font of messages, which are read, while controls are glanced at."""
    return _scaled(font, _READING)


def small_font(font: QFont) -> QFont:
    """The font of labels, notes and special tokens."""
    return _scaled(font, _SMALL)


def _scaled(font: QFont, factor: float) -> QFont:
    scaled = QFont(font)
    scaled.setPointSizeF(font.pointSizeF() * factor)
    return scaled

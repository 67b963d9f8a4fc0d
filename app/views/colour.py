"""Colour arithmetic after WCAG 2.2."""

from collections.abc import Sequence

from PySide6.QtGui import QColor


def relative_luminance(colour: QColor) -> float:
    """0 for black to 1 for white (WCAG 2.2, "relative luminance", sRGB)."""
    red, green, blue = (_linear(channel) for channel in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast_ratio(one: QColor, other: QColor) -> float:
    """1 for equal colours to 21 for black on white (WCAG 2.2, "contrast ratio")."""
    darker, lighter = sorted((relative_luminance(one), relative_luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def blend(stops: Sequence[QColor], position: float) -> QColor:
    """The colour at `position` (0 to 1) on the straight lines between evenly spaced `stops`."""
    scaled = min(max(position, 0.0), 1.0) * (len(stops) - 1)
    index = min(int(scaled), len(stops) - 2)
    share = scaled - index
    below, above = stops[index], stops[index + 1]
    return QColor.fromRgbF(
        below.redF() + (above.redF() - below.redF()) * share,
        below.greenF() + (above.greenF() - below.greenF()) * share,
        below.blueF() + (above.blueF() - below.blueF()) * share,
    )


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4

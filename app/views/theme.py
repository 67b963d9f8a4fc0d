"""The colours of the window, light or dark as the system's palette is."""

from dataclasses import dataclass

from PySide6.QtGui import QColor, QPalette


@dataclass(frozen=True, slots=True)
class Theme:
    """Every colour that views paint with. Text on its surface has a contrast of at least 4.5:1; a test computes it.

    `heat` runs from certain to surprised; `text` is readable on each of its colours, so that switching the heatmap on
    changes no glyph.
    """

    is_dark: bool
    page: QColor
    chrome: QColor
    raised: QColor
    hovered: QColor
    border: QColor
    text: QColor
    dimmed: QColor
    accent: QColor
    accent_text: QColor
    bubble: QColor
    selection: QColor
    warning: QColor
    warning_text: QColor
    shadow: QColor
    hatch: QColor
    bar: QColor
    heat: tuple[QColor, ...]


def _colours(*names: str) -> tuple[QColor, ...]:
    return tuple(QColor(name) for name in names)


LIGHT = Theme(
    is_dark=False,
    page=QColor("#ffffff"),
    chrome=QColor("#f5f5f7"),
    raised=QColor("#ffffff"),
    hovered=QColor("#e7e7ec"),
    border=QColor("#dcdce2"),
    text=QColor("#1b1b1f"),
    dimmed=QColor("#62636c"),
    accent=QColor("#2759d8"),
    accent_text=QColor("#ffffff"),
    bubble=QColor("#edf1fb"),
    selection=QColor("#b9d2ff"),
    warning=QColor("#fff4dd"),
    warning_text=QColor("#5c4206"),
    shadow=QColor(20, 20, 40, 46),
    hatch=QColor("#c9c9d2"),
    bar=QColor("#d9e4fb"),
    # Single-hue-family ramps of falling lightness (after ColorBrewer's YlOrBr) keep their order without colour vision.
    heat=_colours("#fffbe8", "#ffefb8", "#ffd877", "#fdb044", "#f0822a"),
)

DARK = Theme(
    is_dark=True,
    page=QColor("#1b1b1f"),
    chrome=QColor("#232328"),
    raised=QColor("#2a2a30"),
    hovered=QColor("#36363e"),
    border=QColor("#3b3b44"),
    text=QColor("#ececf1"),
    dimmed=QColor("#a2a3ae"),
    accent=QColor("#86adff"),
    accent_text=QColor("#10182c"),
    bubble=QColor("#272d3d"),
    selection=QColor("#34508c"),
    warning=QColor("#3a2f16"),
    warning_text=QColor("#f5dfae"),
    shadow=QColor(0, 0, 0, 120),
    hatch=QColor("#4b4b55"),
    bar=QColor("#34415f"),
    heat=_colours("#25231f", "#3d2f16", "#5a3b0c", "#7d430a", "#a14409"),
)


def theme_of(palette: QPalette) -> Theme:
    """The theme that goes with a palette; the system's own colour scheme arrives as a palette too."""
    return DARK if palette.color(QPalette.ColorRole.Window).lightness() < 128 else LIGHT


def palette_of(theme: Theme) -> QPalette:
    """A palette that gives Qt's own controls the colours of `theme`."""
    palette = QPalette()
    role = QPalette.ColorRole
    for roles, colour in (
        ((role.Window, role.Button, role.AlternateBase), theme.chrome),
        ((role.Base, role.ToolTipBase), theme.raised),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText), theme.text),
        ((role.PlaceholderText,), theme.dimmed),
        ((role.Accent, role.Link), theme.accent),
        ((role.Highlight,), theme.selection),
        ((role.HighlightedText,), theme.text),
        ((role.Mid, role.Midlight), theme.border),
    ):
        for each in roles:
            palette.setColor(each, colour)
    disabled = QPalette.ColorGroup.Disabled
    for each in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(disabled, each, theme.dimmed)
    return palette

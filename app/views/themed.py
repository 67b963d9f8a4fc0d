"""Widgets that follow the theme."""

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QToolButton, QWidget

from app.views.icons import icon
from app.views.theme import Theme, theme_of


class IconButton(QToolButton):
    """A flat button with one of Candor's icons, which is redrawn when the theme changes.

    `role` names the theme's colour that the icon is drawn in.
    """

    def __init__(self, name: str, label: str, parent: QWidget | None = None, role: str = "dimmed") -> None:
        super().__init__(parent)
        self._icon_name = name
        self._role = role
        # By the keyboard only: a click leaves the focus where the user writes.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(label)
        self.setToolTip(label)
        self.redraw()

    @property
    def theme(self) -> Theme:
        return theme_of(self.window().palette())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.EnabledChange, QEvent.Type.ParentChange):
            self.redraw()

    def redraw(self) -> None:
        """Draw the icon in the window's theme; a button under a style sheet is not told when the palette changes."""
        theme = self.theme
        self.setIcon(icon(self._icon_name, getattr(theme, self._role) if self.isEnabled() else theme.dimmed))

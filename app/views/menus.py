"""The window's menu bar."""

import sys
from collections.abc import Sequence
from typing import Final

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu

Shortcut = QKeySequence | QKeySequence.StandardKey | str

_CONTROL: Final = "Meta" if sys.platform == "darwin" else "Ctrl"
"""On a Mac Qt calls the Command key Ctrl and the Control key Meta."""
NEXT_TAB: Final = (f"{_CONTROL}+Tab", "Ctrl+}")
PREVIOUS_TAB: Final = (f"{_CONTROL}+Shift+Tab", "Ctrl+{")
"""Braces, as Qt has them: Shift is part of the character."""

_EDIT_ACTIONS: Final = (
    ("Undo", "undo", QKeySequence.StandardKey.Undo),
    ("Redo", "redo", QKeySequence.StandardKey.Redo),
    ("", "", QKeySequence.StandardKey.UnknownKey),
    ("Cut", "cut", QKeySequence.StandardKey.Cut),
    ("Copy", "copy", QKeySequence.StandardKey.Copy),
    ("Paste", "paste", QKeySequence.StandardKey.Paste),
    ("Select All", "selectAll", QKeySequence.StandardKey.SelectAll),
)


class Menus:
    """Owns the menu bar's actions; whoever made it connects them."""

    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        bar = window.menuBar()
        file, edit, view, chat, more = (bar.addMenu(title) for title in ("File", "Edit", "View", "Chat", "Help"))
        self.new_tab = self._action(file, "New Tab", [QKeySequence.StandardKey.AddTab])
        self.close_tab = self._action(file, "Close Tab", ["Ctrl+W"])
        file.addSeparator()
        self.quit = self._action(file, "Quit Candor", ["Ctrl+Q"])
        self.quit.setMenuRole(QAction.MenuRole.QuitRole)
        self._fill_edit(edit)
        self.heatmap = self._action(view, "Heatmap", ["Ctrl+Shift+H"])
        self.heatmap.setCheckable(True)
        view.addSeparator()
        self.next_tab = self._action(view, "Next Tab", NEXT_TAB)
        self.previous_tab = self._action(view, "Previous Tab", PREVIOUS_TAB)
        self.write = self._action(chat, "Write a Message", ["Ctrl+L"])
        self.stop = self._action(chat, "Stop", ["Ctrl+."])
        self.choose_model = self._action(chat, "Choose a Model", ["Ctrl+Shift+M"])
        self.open_folder = self._action(chat, "Open a Model's Folder…", [QKeySequence.StandardKey.Open])
        self.jump_to_end = self._action(chat, "Jump to the End", ["Ctrl+End"])
        self.about = self._action(more, "About Candor", [])
        self.about.setMenuRole(QAction.MenuRole.AboutRole)

    def _action(self, menu: QMenu, title: str, shortcuts: Sequence[Shortcut]) -> QAction:
        action = QAction(title, self._window)
        action.setShortcuts([QKeySequence(shortcut) for shortcut in shortcuts])
        menu.addAction(action)
        return action

    def _fill_edit(self, menu: QMenu) -> None:
        for title, method, shortcut in _EDIT_ACTIONS:
            if not title:
                menu.addSeparator()
                continue
            action = self._action(menu, title, [shortcut])
            action.triggered.connect(lambda _=False, name=method: act_on_focus(name))


def act_on_focus(method: str) -> None:
    """Call an editing method of the field that has the keyboard, if it has such a method."""
    act = getattr(QApplication.focusWidget(), method, None)
    if callable(act):
        act()

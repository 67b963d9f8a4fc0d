"""Tells an Enter that ends an input method's composition from an Enter that is meant."""

from typing import Final

from PySide6.QtCore import QElapsedTimer
from PySide6.QtGui import QInputMethodEvent

_SAME_KEY_PRESS_MS: Final = 40
"""Some platforms deliver the key that committed right after the commit; no hand presses Enter again this fast."""


class CompositionGuard:
    """Watches one field's input-method events. Belongs to that field, on the Qt thread."""

    def __init__(self) -> None:
        self._composing = False
        self._saw_committing_key = False
        self._echo_expected = False
        self._since_commit = QElapsedTimer()

    @property
    def is_composing(self) -> bool:
        """Whether uncommitted text is on the screen."""
        return self._composing

    def watch(self, event: QInputMethodEvent) -> None:
        """Take note of an event; call it for every one that the field receives."""
        was_composing, self._composing = self._composing, bool(event.preeditString())
        if self._composing and not was_composing:
            self._saw_committing_key = False
        if was_composing and not self._composing and event.commitString():
            self._echo_expected = not self._saw_committing_key
            self._since_commit.start()

    def takes_enter(self) -> bool:
        """Whether an Enter that arrives now belongs to the input method; ask once for each key press."""
        if self._composing:
            self._saw_committing_key = True
            return True
        echo_expected, self._echo_expected = self._echo_expected, False
        return echo_expected and self._since_commit.elapsed() < _SAME_KEY_PRESS_MS

"""The text field of the composer."""

from typing import Final

from PySide6.QtCore import QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.views.fonts import reading_font
from app.views.input_method import CompositionGuard

MAX_VISIBLE_LINES: Final = 10
MAX_EDITED_CHARACTERS: Final = 100_000
MAX_EDITED_LINE: Final = 4_000
"""Qt lays out a paragraph as a whole: editing one line of a megabyte takes minutes."""


def is_too_long_to_edit(text: str) -> bool:
    """Whether a text is better kept beside the field than in it."""
    return len(text) > MAX_EDITED_CHARACTERS or any(len(line) > MAX_EDITED_LINE for line in text.split("\n"))


class MessageEdit(QPlainTextEdit):
    """Plain text that grows up to ten lines, then scrolls. Enter submits, Shift+Enter breaks the line."""

    submitted = Signal()
    escaped = Signal()
    long_text_pasted = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._guard = CompositionGuard()
        self.setObjectName("messageEdit")
        self.setAccessibleName("Message")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(reading_font(self.font()))
        self.document().setDocumentMargin(3)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(320, self._height_for(self._lines()))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height_for(1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._press_enter(event)
        elif event.key() == Qt.Key.Key_Escape and not self._guard.is_composing:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._guard.watch(event)
        super().inputMethodEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802 - Qt calls it by this name
        text = source.text()
        line = self.textCursor().block().text()
        if is_too_long_to_edit(line + text):
            self.long_text_pasted.emit(text)
        else:
            self.insertPlainText(text)

    def _press_enter(self, event: QKeyEvent) -> None:
        event.accept()
        if self._guard.takes_enter():
            return
        if event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
            self.textCursor().insertBlock()
            self.ensureCursorVisible()
        else:
            self.submitted.emit()

    def _lines(self) -> int:
        """Lines on the screen; Qt's plain text layout measures a document's height in them."""
        return max(1, min(MAX_VISIBLE_LINES, int(self.document().size().height())))

    def _height_for(self, lines: int) -> int:
        return int(lines * self.fontMetrics().lineSpacing() + 2 * self.document().documentMargin() + 2)

    def _fit(self) -> None:
        scrolls = self.document().size().height() > MAX_VISIBLE_LINES
        policy = Qt.ScrollBarPolicy.ScrollBarAsNeeded if scrolls else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(policy)
        self.setFixedHeight(self._height_for(self._lines()))

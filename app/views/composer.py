"""Where the user writes a message."""

from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.views.message_edit import MessageEdit, is_too_long_to_edit
from app.views.pasted_texts import PastedTexts
from app.views.themed import IconButton

PLACEHOLDER: Final = "Message the model"
_DRAFT_DELAY_MS: Final = 250


class Composer(QFrame):
    """Emits what the user asks for; shows what it is told. Decides nothing.

    A text too long to edit stands beside the field, and is sent after what was typed. Sending empties the composer
    before the signal, so that whoever refuses the message can show it again.
    """

    send_requested = Signal(str)
    blank_submitted = Signal()
    """Enter with nothing to send: somebody may say so."""
    stop_requested = Signal()
    draft_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self._generating = False
        self._send_enabled = True
        self.edit = MessageEdit(self)
        self.pasted = PastedTexts(self)
        self.send = IconButton("send", "Send", self, role="accent_text")
        self.stop = IconButton("stop", "Stop", self, role="page")
        self._draft_delay = QTimer(self, singleShot=True, interval=_DRAFT_DELAY_MS)
        self._lay_out()
        self._connect()
        self.show_generating(False)
        self.show_send_enabled(True)

    def text(self) -> str:
        """The whole draft: what was typed, then what was pasted beside it, parted by blank lines."""
        typed = self.edit.toPlainText()
        return "\n\n".join([*([typed] if typed.strip() else []), *self.pasted.texts]) or typed

    def show_draft(self, text: str) -> None:
        """Replace the draft; it is not told back."""
        self.pasted.clear()
        self.edit.clear()
        if is_too_long_to_edit(text):
            self.pasted.add(text)
        elif text:
            self.edit.insertPlainText(text)
        self._draft_delay.stop()
        self._show_sendable()

    def show_generating(self, generating: bool) -> None:
        self._generating = generating
        self.send.setHidden(generating)
        self.stop.setHidden(not generating)

    def show_send_enabled(self, enabled: bool, reason: str = "") -> None:
        self._send_enabled = enabled
        self.send.setToolTip("Send (Enter)" if enabled else reason)
        self.edit.setPlaceholderText(PLACEHOLDER if enabled or not reason else reason)
        # Qt does not repaint where one placeholder takes the place of another.
        self.edit.viewport().update()
        self._show_sendable()

    def request_stop(self) -> None:
        """Ask to stop, if there is anything to stop."""
        if self._generating:
            self.stop_requested.emit()

    def _lay_out(self) -> None:
        for button in (self.send, self.stop):
            button.setObjectName(f"{button.accessibleName().lower()}Button")
            button.setFixedSize(30, 30)
        line = QHBoxLayout()
        line.setSpacing(8)
        line.addWidget(self.edit, 1)
        for button in (self.send, self.stop):
            line.addWidget(button, 0, Qt.AlignmentFlag.AlignBottom)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(14, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.pasted)
        layout.addLayout(line)
        self.setFocusProxy(self.edit)

    def _connect(self) -> None:
        self.edit.submitted.connect(self._submit)
        self.edit.escaped.connect(self.request_stop)
        self.edit.long_text_pasted.connect(self.pasted.add)
        self.edit.textChanged.connect(self._note_change)
        self.pasted.changed.connect(self._note_change)
        self.send.clicked.connect(self._submit)
        self.stop.clicked.connect(self.stop_requested)
        self._draft_delay.timeout.connect(self._tell_draft)

    def _submit(self) -> None:
        if not self._has_text():
            self.blank_submitted.emit()
        if not self._may_send():
            return
        text = self.text()
        self.show_draft("")
        self.edit.setFocus()
        self.send_requested.emit(text)

    def _may_send(self) -> bool:
        return self._send_enabled and not self._generating and self._has_text()

    def _has_text(self) -> bool:
        """Whether anything but white space was written."""
        return bool(self.pasted.texts) or bool(self.edit.toPlainText().strip())

    def _note_change(self) -> None:
        self._show_sendable()
        self._draft_delay.start()

    def _show_sendable(self) -> None:
        self.send.setEnabled(self._send_enabled and self._has_text())

    def _tell_draft(self) -> None:
        self.draft_changed.emit(self.text())

"""Long pasted texts, kept beside the message field."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.views.themed import IconButton


class PastedTexts(QWidget):
    """One row for each long text that will be sent after the typed one."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[str, QWidget]] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.hide()

    @property
    def texts(self) -> list[str]:
        return [text for text, _ in self._rows]

    def add(self, text: str) -> None:
        row = self._row(text)
        self._rows.append((text, row))
        self._column.addWidget(row)
        self.show()
        self.changed.emit()

    def remove(self, index: int) -> None:
        _, row = self._rows.pop(index)
        row.deleteLater()
        self.setHidden(not self._rows)
        self.changed.emit()

    def clear(self) -> None:
        for _, row in self._rows:
            row.deleteLater()
        self._rows.clear()
        self.hide()

    def _row(self, text: str) -> QWidget:
        row = QWidget(self)
        row.setObjectName("pastedText")
        layout = QHBoxLayout(row)
        layout.setContentsMargins(10, 4, 4, 4)
        description = _description(text)
        label = QLabel(description)
        label.setToolTip(text[:400] + ("…" if len(text) > 400 else ""))
        remove = IconButton("close", f"Remove {description}", row)
        remove.clicked.connect(lambda: self.remove([each for _, each in self._rows].index(row)))
        layout.addWidget(label)
        layout.addStretch(1)
        layout.addWidget(remove)
        return row


def _description(text: str) -> str:
    lines = text.count("\n") + 1
    return f"Pasted text, {len(text):,} characters in {lines:,} {'line' if lines == 1 else 'lines'}"

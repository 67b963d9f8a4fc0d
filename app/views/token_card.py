"""The card that says how sure the model was of a token."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from app.views.probability_text import percent_text
from app.views.transcript import HoveredToken
from app.views.visible_text import visible_text


class TokenCard(QFrame):
    """Floats beside a token; the mouse passes through it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._pane = parent
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = QLabel()
        QVBoxLayout(self).addWidget(self._text)
        self.hide()

    def show_token(self, hovered: HoveredToken | None, viewport: QWidget) -> None:
        self.setHidden(hovered is None)
        if hovered is None:
            return
        logprob = hovered.logprobs.logprob if hovered.logprobs is not None else None
        self._text.setText(f"{visible_text(hovered.piece.data)}: model probability {percent_text(logprob)}")
        self.adjustSize()
        corner = viewport.mapTo(self._pane, hovered.place.bottomLeft() + QPoint(0, 6))
        self.move(corner)
        self.raise_()

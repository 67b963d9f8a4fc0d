"""One tab's screen."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.views.composer import Composer
from app.views.heat_legend import HeatLegend
from app.views.model_picker import ModelPicker
from app.views.problem_banner import ProblemBanner
from app.views.token_card import TokenCard
from app.views.transcript import HoveredToken, Transcript
from app.views.transcript.page import MAX_COLUMN
from engine.contracts import ModelDescription, Problem, Role, TokenLogprobs, TokenPiece


class ChatPane(QWidget):
    """A model, a conversation, and a place to write. Shows what it is told; emits what the user asks for."""

    send_requested = Signal(str)
    blank_submitted = Signal()
    stop_requested = Signal()
    model_chosen = Signal(str)
    folder_chosen = Signal(str)
    remedy_requested = Signal()
    draft_changed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPane")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.picker = ModelPicker()
        self.legend = HeatLegend()
        self.transcript = Transcript()
        self.banner = ProblemBanner()
        self.composer = Composer()
        self.status = QLabel()
        self.card = TokenCard(self)
        self._lay_out()
        self._connect()

    def begin_message(self, message: str, role: Role, text: str = "") -> None:
        self.transcript.begin_message(message, role, text)

    def append_pieces(
        self, message: str, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None
    ) -> None:
        self.transcript.append_pieces(message, pieces, logprobs)

    def end_message(self, message: str, note: str = "") -> None:
        self.transcript.end_message(message, note)

    def clear_messages(self) -> None:
        self.transcript.clear_messages()

    def show_generating(self, generating: bool) -> None:
        self.composer.show_generating(generating)

    def show_send_enabled(self, enabled: bool, reason: str = "") -> None:
        self.composer.show_send_enabled(enabled, reason)

    def show_status(self, text: str) -> None:
        self.status.setText(text)

    def show_models(self, models: Sequence[ModelDescription], selected: str | None) -> None:
        self.picker.show_models(models, selected)

    def show_problem(self, problem: Problem | None, remedy_label: str = "") -> None:
        self.banner.show_problem(problem, remedy_label)

    def show_draft(self, text: str) -> None:
        self.composer.show_draft(text)

    def show_heat(self, shown: bool) -> None:
        """Colour tokens by probability; the legend says what the colours mean."""
        self.legend.setHidden(not shown)
        self.transcript.show_heat(shown)

    def focus_composer(self) -> None:
        self.composer.edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape stops wherever the focus is; the composer takes its own."""
        if event.key() == Qt.Key.Key_Escape:
            self.composer.request_stop()
        else:
            super().keyPressEvent(event)

    def _lay_out(self) -> None:
        self.status.setObjectName("statusLine")
        self.status.setAccessibleName("Status")
        self.status.setTextFormat(Qt.TextFormat.PlainText)
        top = QHBoxLayout()
        top.setContentsMargins(16, 8, 16, 8)
        top.addWidget(self.picker)
        top.addStretch(1)
        top.addWidget(self.legend)
        foot = QVBoxLayout()
        foot.setContentsMargins(0, 4, 0, 8)
        foot.setSpacing(8)
        for widget in (self.banner, self.composer, self.status):
            foot.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self.transcript, 1)
        layout.addLayout(_centred(foot))

    def _connect(self) -> None:
        self.composer.send_requested.connect(self.send_requested)
        self.composer.blank_submitted.connect(self.blank_submitted)
        self.composer.stop_requested.connect(self.stop_requested)
        self.composer.draft_changed.connect(self.draft_changed)
        self.picker.model_chosen.connect(self.model_chosen)
        self.picker.folder_chosen.connect(self.folder_chosen)
        self.banner.remedy_requested.connect(self.remedy_requested)
        self.transcript.token_hovered.connect(self._show_card)

    def _show_card(self, hovered: HoveredToken | None) -> None:
        self.card.show_token(hovered, self.transcript.viewport())


def _centred(column: QVBoxLayout) -> QHBoxLayout:
    """The column at most as wide as the text of messages, with the same margins."""
    holder = QWidget()
    holder.setMaximumWidth(int(MAX_COLUMN))
    holder.setLayout(column)
    line = QHBoxLayout()
    line.setContentsMargins(28, 0, 28, 0)
    line.addStretch(1)
    line.addWidget(holder, 1000)
    line.addStretch(1)
    return line

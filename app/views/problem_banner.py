"""The banner that says what went wrong."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.views.themed import IconButton
from engine.contracts import Problem


class ProblemBanner(QFrame):
    """One sentence, its remedy, and a button for it when there is one. Hidden while there is no problem."""

    remedy_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("problemBanner")
        self.sentence = _wrapping_label("problemSentence")
        self.remedy = _wrapping_label("problemRemedy")
        self.button = QPushButton()
        self.button.clicked.connect(self.remedy_requested)
        self.dismiss = IconButton("close", "Dismiss", self, role="warning_text")
        self.dismiss.clicked.connect(self.hide)
        self._lay_out()
        self.hide()

    def show_problem(self, problem: Problem | None, remedy_label: str = "") -> None:
        """Show `problem`, or take the banner away with None; a label adds the button."""
        self.setHidden(problem is None)
        if problem is None:
            return
        self.sentence.setText(problem.sentence)
        self.remedy.setText(problem.remedy)
        self.remedy.setHidden(not problem.remedy)
        self.button.setText(remedy_label)
        self.button.setHidden(not remedy_label)
        self.setAccessibleName(f"Problem: {problem.sentence}")
        self.setAccessibleDescription(problem.remedy)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.sentence)
        words.addWidget(self.remedy)
        mark = IconButton("warning", "Problem", self, role="warning_text")
        mark.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        mark.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(mark, 0, Qt.AlignmentFlag.AlignTop)
        layout.addLayout(words, 1)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.dismiss, 0, Qt.AlignmentFlag.AlignTop)


def _wrapping_label(name: str) -> QLabel:
    label = QLabel()
    label.setObjectName(name)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label

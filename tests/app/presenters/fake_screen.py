"""A window that remembers what it was told to show."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.contracts import ModelDescription, Problem, Role, TokenLogprobs, TokenPiece


class ShownMessage:
    """One message as a reader sees it."""

    def __init__(self, role: Role, text: str) -> None:
        self.role = role
        self.text = text
        self.logprobs: list[TokenLogprobs | None] = []
        self.note: str | None = None
        """None until the message is complete."""


class SendButton(NamedTuple):
    """Whether a message can be sent, and if not, why."""

    enabled: bool
    reason: str


class FakeChatView:
    """Implements `ChatView`."""

    def __init__(self) -> None:
        self.messages: dict[str, ShownMessage] = {}
        self.generating: list[bool] = []
        self.send = SendButton(False, "")
        self.statuses: list[str] = []
        self.models: Sequence[ModelDescription] = ()
        self.selected: str | None = None
        self.problem: Problem | None = None
        self.problems: list[Problem] = []
        """Every problem ever shown."""
        self.remedy_label = ""
        self.draft = ""
        self.focused = False

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages.values()]

    @property
    def last(self) -> ShownMessage:
        return list(self.messages.values())[-1]

    @property
    def status(self) -> str:
        return self.statuses[-1] if self.statuses else ""

    def begin_message(self, message: str, role: Role, text: str = "") -> None:
        assert message not in self.messages, "each message has its own key"
        self.messages[message] = ShownMessage(role, text)

    def append_pieces(
        self, message: str, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None
    ) -> None:
        shown = self.messages[message]
        shown.text += "".join(piece.text for piece in pieces)
        shown.logprobs += logprobs if logprobs is not None else [None] * len(pieces)

    def end_message(self, message: str, note: str = "") -> None:
        self.messages[message].note = note

    def clear_messages(self) -> None:
        self.messages.clear()

    def show_generating(self, generating: bool) -> None:
        self.generating.append(generating)

    def show_send_enabled(self, enabled: bool, reason: str = "") -> None:
        self.send = SendButton(enabled, reason)

    def show_status(self, text: str) -> None:
        self.statuses.append(text)

    def show_models(self, models: Sequence[ModelDescription], selected: str | None) -> None:
        self.models, self.selected = models, selected

    def show_problem(self, problem: Problem | None, remedy_label: str = "") -> None:
        self.problem, self.remedy_label = problem, remedy_label
        if problem is not None:
            self.problems.append(problem)

    def show_draft(self, text: str) -> None:
        self.draft = text

    def focus_composer(self) -> None:
        self.focused = True


class FakeWindowView:
    """Implements `WindowView`."""

    def __init__(self) -> None:
        self.tabs: dict[str, FakeChatView] = {}
        self.titles: dict[str, str] = {}
        self.selected: str | None = None
        self.heatmap: list[bool] = []
        self.engine_state = ""
        self.is_closed = False

    def add_tab(self, tab: str, title: str) -> FakeChatView:
        assert tab not in self.tabs, "each tab has its own key"
        self.tabs[tab] = FakeChatView()
        self.titles[tab] = title
        return self.tabs[tab]

    def remove_tab(self, tab: str) -> None:
        del self.tabs[tab], self.titles[tab]

    def show_tab_title(self, tab: str, title: str) -> None:
        assert tab in self.tabs
        self.titles[tab] = title

    def select_tab(self, tab: str) -> None:
        assert tab in self.tabs
        self.selected = tab

    def show_heatmap(self, shown: bool) -> None:
        self.heatmap.append(shown)

    def show_engine_state(self, text: str) -> None:
        self.engine_state = text

    def close_for_good(self) -> None:
        self.is_closed = True

"""What presenters need from a screen; any object will do."""

from collections.abc import Sequence
from typing import Protocol

from engine.contracts import ModelDescription, Problem, Role, TokenLogprobs, TokenPiece


class ChatView(Protocol):
    """One tab's screen. It shows what it is told; `message` is a key that the presenter chose.

    The view emits, as Qt signals that the bootstrap connects: `send_requested(str)`, `blank_submitted()`,
    `stop_requested()`, `model_chosen(str)`, `folder_chosen(str)`, `remedy_requested()`, `draft_changed(str)`. Sending
    empties the composer; what cannot be sent comes back with `show_draft`.
    """

    def begin_message(self, message: str, role: Role, text: str = "") -> None:
        """Add a message at the end; `text` is all it has so far."""

    def append_pieces(
        self, message: str, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None
    ) -> None:
        """Add tokens to an answer; the view may show them with the next frame."""

    def end_message(self, message: str, note: str = "") -> None:
        """The message is complete; `note` says how it ended when that is not obvious ("stopped")."""

    def clear_messages(self) -> None: ...

    def show_generating(self, generating: bool) -> None:
        """Send becomes Stop while an answer is under way."""

    def show_send_enabled(self, enabled: bool, reason: str = "") -> None:
        """Whether a message can be sent now; if not, the reason."""

    def show_status(self, text: str) -> None:
        """The status line: state, tokens per second, time to first token."""

    def show_models(self, models: Sequence[ModelDescription], selected: str | None) -> None: ...

    def show_problem(self, problem: Problem | None, remedy_label: str = "") -> None:
        """A sentence with a remedy above the composer; None takes it away. A label adds a button."""

    def show_draft(self, text: str) -> None: ...

    def focus_composer(self) -> None: ...


class WindowView(Protocol):
    """The window around the tabs. `tab` is a key that the presenter chose.

    It emits `new_tab_requested()`, `tab_close_requested(str)`, `tab_selected(str)`, `heatmap_toggled(bool)` and
    `quit_requested()` (once the user closes the window or chooses Quit; the window stays until `close_for_good`).
    """

    def add_tab(self, tab: str, title: str) -> ChatView: ...

    def remove_tab(self, tab: str) -> None: ...

    def show_tab_title(self, tab: str, title: str) -> None: ...

    def select_tab(self, tab: str) -> None: ...

    def show_heatmap(self, shown: bool) -> None: ...

    def show_engine_state(self, text: str) -> None:
        """A short word on the engine for the whole window; empty when all is well."""

    def close_for_good(self) -> None: ...

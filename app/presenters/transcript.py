"""A branch of a conversation put on the screen."""

from collections.abc import Iterable
from typing import Final

from app.chats.store import ChatStore
from app.chats.tree import Turn, TurnId, TurnState
from app.presenters.views import ChatView
from engine.contracts import FinishReason, GenerationResult, Role


def key_of(turn: TurnId) -> str:
    """The view's key of a message."""
    return f"turn-{turn}"


def show_branch(view: ChatView, branch: Iterable[Turn], store: ChatStore) -> None:
    """Replace what is on the screen by `branch`. Raises `ProblemError` where the tokens cannot be read."""
    view.clear_messages()
    for turn in branch:
        if turn.role is Role.ASSISTANT:
            records = store.read_tokens(turn.id)
            view.begin_message(key_of(turn.id), turn.role)
            view.append_pieces(key_of(turn.id), records.pieces, records.logprobs)
        else:
            view.begin_message(key_of(turn.id), turn.role, turn.text)
        view.end_message(key_of(turn.id), note_of(turn.state, turn.result, is_empty=not (turn.text or turn.thinking)))


def note_of(state: TurnState, result: GenerationResult | None, *, is_empty: bool) -> str:
    """How a message ended, when that is not obvious."""
    if state is TurnState.COMPLETE and is_empty:
        return "the model said nothing"
    if result is not None and result.finish_reason in _LIMITS:
        return _LIMITS[result.finish_reason]
    return _NOTES.get(state, "")


_LIMITS: Final = {
    FinishReason.MAX_TOKENS: "reached the longest length allowed",
    FinishReason.CONTEXT_FULL: "the context is full",
}
_NOTES: Final = {
    TurnState.STOPPED: "stopped",
    TurnState.FAILED: "ended by an error",
    TurnState.INTERRUPTED: "interrupted",
    TurnState.DAMAGED: "damaged in the file",
}

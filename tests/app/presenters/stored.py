"""What the store holds of a tab's chat."""

from app.chats.store import ChatStore
from app.chats.tree import TurnState, branch_to
from app.presenters.chat import ChatPresenter
from engine.contracts import Role


def stored_branch(store: ChatStore, chat: ChatPresenter) -> list[tuple[Role, str, TurnState]]:
    """The branch on the screen as role, text, state."""
    assert chat.chat_id is not None
    stored = store.read_chat(chat.chat_id)
    return [(turn.role, turn.text, turn.state) for turn in branch_to(stored.turns, stored.head)]

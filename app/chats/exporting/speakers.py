"""Who says a message, in the words of an exported page."""

from collections.abc import Sequence

from app.chats.tree import Chat, Turn, TurnId, TurnState, branch_to
from engine.contracts import Role

_NAMES = {Role.SYSTEM: "System", Role.USER: "You", Role.ASSISTANT: "Assistant"}

UNTITLED = "Untitled chat"


def speaker_of(turn: Turn) -> str:
    return _NAMES[turn.role]


def details_of(turn: Turn, versions: int = 1, version: int = 1) -> str:
    """What is worth knowing of a message beside its text, or nothing.

    Of the model's id only the last part is named: the rest is a folder of the user's.
    """
    details = [turn.model.replace("\\", "/").rstrip("/").rpartition("/")[2]] if turn.model else []
    if versions > 1:
        details.append(f"version {version} of {versions}")
    if turn.result is not None:
        details.append(f"seed {turn.result.seed}")
    if turn.state is not TurnState.COMPLETE:
        details.append(turn.state.value)
    return ", ".join(details)


def branch_with_details(chat: Chat) -> tuple[tuple[Turn, str], ...]:
    """The branch on screen, each turn with its details; other versions are counted, not shown."""
    versions: dict[TurnId | None, list[TurnId]] = {}
    for turn in chat.turns:
        versions.setdefault(turn.parent, []).append(turn.id)
    return tuple((turn, _details_among(versions[turn.parent], turn)) for turn in branch_to(chat.turns, chat.head))


def title_line(chat: Chat) -> str:
    """The title on one line."""
    return " ".join(chat.title.split()) or UNTITLED


def _details_among(versions: Sequence[TurnId], turn: Turn) -> str:
    return details_of(turn, len(versions), versions.index(turn.id) + 1)

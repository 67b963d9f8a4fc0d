"""Conversations as plain text."""

from collections.abc import Iterable, Iterator

from app.chats.exporting.speakers import branch_with_details, speaker_of, title_line
from app.chats.tree import Chat, Turn


def chats_as_text(chats: Iterable[Chat]) -> Iterator[str]:
    """The branch on screen of each chat, a turn at a time."""
    for place, chat in enumerate(chats):
        title = title_line(chat)
        yield ("\n\n" if place else "") + f"{title}\n{'=' * len(title)}\n"
        for turn, details in branch_with_details(chat):
            yield f"\n{speaker_of(turn)}{f' ({details})' if details else ''}:\n{_body(turn)}\n"


def answer_as_text(turn: Turn) -> str:
    """What was said and nothing else."""
    return turn.text


def _body(turn: Turn) -> str:
    thinking = f"[Thinking]\n{turn.thinking.strip()}\n[/Thinking]\n\n" if turn.thinking else ""
    return thinking + turn.text.strip("\n")

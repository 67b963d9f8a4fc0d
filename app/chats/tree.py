"""A conversation as a tree of frozen turns."""

import enum
from collections.abc import Sequence
from typing import NewType

import msgspec

from engine.contracts import GenerationResult, Problem, Role

ChatId = NewType("ChatId", int)
TurnId = NewType("TurnId", int)


class TurnState(enum.StrEnum):
    """How far a turn came. Only `STREAMING` ever changes, and only to one of the others."""

    COMPLETE = "complete"
    STREAMING = "streaming"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """The app ended while the answer was streaming."""
    DAMAGED = "damaged"
    """What the file holds of it cannot be trusted; never written, only found while reading."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One message. Turns with the same parent are versions of each other; `parent` None begins the conversation.

    `text` is what was said, `thinking` what a model thought before; both are all that could be read. `result` and
    `problem` say how an answer ended, when it did.
    """

    id: TurnId
    parent: TurnId | None
    role: Role
    text: str
    thinking: str = ""
    state: TurnState = TurnState.COMPLETE
    model: str | None = None
    created_ms: int = 0
    result: GenerationResult | None = None
    problem: Problem | None = None


class Chat(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation. `head` is the last turn of the branch on screen; `turns` are all of them, oldest first."""

    id: ChatId
    title: str = ""
    model: str | None = None
    draft: str = ""
    head: TurnId | None = None
    turns: tuple[Turn, ...] = ()


def branch_to(turns: Sequence[Turn], head: TurnId | None) -> tuple[Turn, ...]:
    """The path from the first turn down to `head`. Ends early where a parent is missing or already on the path."""
    by_id = {turn.id: turn for turn in turns}
    path: list[Turn] = []
    while head is not None and (turn := by_id.pop(head, None)) is not None:
        path.append(turn)
        head = turn.parent
    return tuple(reversed(path))

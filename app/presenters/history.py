"""What the model is told of a conversation."""

from collections.abc import Iterable
from itertools import groupby

from app.chats.tree import Turn
from engine.contracts import Message, Role


def messages_for(branch: Iterable[Turn]) -> tuple[Message, ...]:
    """The turns of `branch` in order, stopped ones as far as they came.

    Answers that never began are left out, and neighbours of one role become one message: many chat templates refuse
    two in a row.
    """
    said = (turn for turn in branch if turn.text or turn.role is not Role.ASSISTANT)
    return tuple(
        Message(role, "\n\n".join(turn.text for turn in turns)) for role, turns in groupby(said, lambda turn: turn.role)
    )

"""What a user can do when a chat template refuses a conversation."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from engine.contracts import Message, Problem, ProblemError, Role

_BETWEEN: Final = "\n\n"
_MAY_DEPEND_ON_MESSAGES: Final = frozenset({"template_refused", "template_failed"})


class Repair(NamedTuple):
    """A change of the messages that keeps every word. `code` becomes the problem's code when the change helps."""

    code: str
    apply: Callable[[Sequence[Message]], tuple[Message, ...]]
    remedy: str


def merge_system_prompt(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The system prompt at the head of the first user turn, for templates that know no system role."""
    system = [message.content for message in messages if message.role is Role.SYSTEM]
    others = [message for message in messages if message.role is not Role.SYSTEM]
    place = next((place for place, message in enumerate(others) if message.role is Role.USER), None)
    if not system or place is None:
        return tuple(messages)
    others[place] = Message(Role.USER, _BETWEEN.join([*system, others[place].content]))
    return tuple(others)


def join_turns(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Neighbouring messages of one role as one, for templates that demand that user and assistant alternate."""
    return tuple(
        Message(role, _BETWEEN.join(message.content for message in turn))
        for role, turn in groupby(messages, key=lambda message: message.role)
    )


def _merge_and_join(messages: Sequence[Message]) -> tuple[Message, ...]:
    return join_turns(merge_system_prompt(messages))


_REPAIRS: Final = (
    Repair(
        "template_refuses_system",
        merge_system_prompt,
        "It works with the system prompt merged into the first user message.",
    ),
    Repair("template_refuses_order", join_turns, "It works with neighbouring messages of one side joined into one."),
    Repair(
        "template_refuses_system",
        _merge_and_join,
        "It works with the system prompt merged into the first user message and neighbouring messages joined.",
    ),
)


def with_remedy(
    problem: Problem, messages: Sequence[Message], render: Callable[[Sequence[Message]], object]
) -> Problem:
    """The problem with the first change that lets `render` succeed, or with raw mode, which needs no template."""
    if problem.code in _MAY_DEPEND_ON_MESSAGES:
        for repair in _REPAIRS:
            repaired = repair.apply(messages)
            if repaired != tuple(messages) and _succeeds(render, repaired):
                return Problem(code=repair.code, sentence=problem.sentence, remedy=repair.remedy)
    remedy = "Raw mode works: it sends the plain text without the template."
    return Problem(code=problem.code, sentence=problem.sentence, remedy=remedy)


def _succeeds(render: Callable[[Sequence[Message]], object], messages: Sequence[Message]) -> bool:
    try:
        render(messages)
    except ProblemError:
        return False
    return True

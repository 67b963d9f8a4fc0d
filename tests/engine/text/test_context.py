"""What is sent when a conversation is longer than the context."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contracts import Message, Overflow, ProblemError, Role
from engine.text.context import fit_context


def message(role: Role, words: int) -> Message:
    return Message(role, "w " * words)


def words_of(messages: Sequence[Message]) -> int:
    return sum(message.content.count("w") for message in messages)


SYSTEM = message(Role.SYSTEM, 10)


def turns(*lengths: int) -> list[Message]:
    return [message(Role.USER if place % 2 == 0 else Role.ASSISTANT, length) for place, length in enumerate(lengths)]


def test_a_conversation_that_fits_is_sent_whole() -> None:
    fit = fit_context([SYSTEM, *turns(100, 200, 50)], words_of, limit=512)

    assert (fit.left_out, fit.prompt_tokens, fit.room, fit.excess) == ((), 360, 152, 0)


def test_the_oldest_turns_are_left_out_and_listed() -> None:
    messages = [SYSTEM, *turns(200, 200, 30, 50, 100)]

    fit = fit_context(messages, words_of, limit=512, answer_room=100)

    assert fit.left_out == (1, 2)
    assert fit.messages == (SYSTEM, *messages[3:])
    assert (fit.full_tokens, fit.prompt_tokens, fit.room, fit.excess) == (590, 190, 322, 78)


def test_a_long_history_and_a_new_prompt_keep_prompt_and_system_text() -> None:
    messages = [SYSTEM, *turns(240, 230), message(Role.USER, 100)]

    fit = fit_context(messages, words_of, limit=512)

    assert fit.messages == (SYSTEM, messages[-1])


def test_a_first_message_longer_than_the_context_is_a_problem_with_its_numbers() -> None:
    with pytest.raises(ProblemError) as caught:
        fit_context(turns(2_000), words_of, limit=512)

    assert caught.value.problem.code == "context_full"
    assert "2,000" in caught.value.problem.sentence
    assert "512" in caught.value.problem.sentence


def test_a_policy_may_refuse_to_leave_anything_out() -> None:
    with pytest.raises(ProblemError) as caught:
        fit_context(turns(300, 300, 10), words_of, limit=512, policy=Overflow.REFUSE)

    assert caught.value.problem.code == "context_full"


def test_a_greeting_before_the_first_user_is_left_out_first() -> None:
    messages = [SYSTEM, message(Role.ASSISTANT, 300), message(Role.USER, 300)]

    assert fit_context(messages, words_of, limit=512).left_out == (1,)


def test_no_messages_at_all_fit() -> None:
    assert fit_context([], words_of, limit=1, answer_room=1).messages == ()


def test_a_limit_of_nothing_is_a_problem_even_without_messages() -> None:
    with pytest.raises(ProblemError):
        fit_context([], words_of, limit=0)


@given(
    lengths=st.lists(st.integers(0, 50), max_size=12),
    roles=st.lists(st.sampled_from(list(Role)), min_size=12, max_size=12),
    limit=st.integers(0, 200),
    room=st.integers(0, 40),
)
def test_what_is_kept_is_the_most_that_fits(lengths: list[int], roles: list[Role], limit: int, room: int) -> None:
    messages = [message(role, length) for role, length in zip(roles, lengths, strict=False)]
    starts = sorted({0, *(place for place, each in enumerate(messages) if each.role is Role.USER)})
    try:
        fit = fit_context(messages, words_of, limit=limit, answer_room=room)
    except ProblemError:
        least = [each for place, each in enumerate(messages) if place >= starts[-1] or each.role is Role.SYSTEM]
        assert words_of(least) + room > limit
        return

    assert words_of(fit.messages) + room <= limit
    assert [each for place, each in enumerate(messages) if place not in fit.left_out] == list(fit.messages)
    assert all(messages[place].role is not Role.SYSTEM for place in fit.left_out)
    if fit.left_out:
        last_turn = max(start for start in starts if start <= fit.left_out[-1])
        more = [messages[place] for place in fit.left_out if place >= last_turn]
        assert words_of(fit.messages) + words_of(more) + room > limit

"""ChatGPT's `conversations.json` keeps its trees."""

from typing import Any

import pytest

from app.chats.importing.values import ImportedChat, Note
from engine.contracts import Role
from tests.app.chats.importing.examples import (
    branch,
    chat_in,
    chatgpt,
    chatgpt_line,
    imported,
    message,
    node,
    notes_in,
    said,
)


def test_edited_questions_and_regenerated_answers_are_versions() -> None:
    chat = chat_in(
        [
            chatgpt(
                node("root", None, ["sys"]),
                node("sys", "root", ["q1", "q2"], message("system", "", weight=0.0)),
                # The later version comes first in the file; the parent knows the order.
                node("q2", "sys", ["a2", "a3"], message("user", "second question")),
                node("q1", "sys", ["a1"], message("user", "first question")),
                node("a1", "q1", [], message("assistant", "first answer")),
                node("a3", "q2", [], message("assistant", "third answer")),
                node("a2", "q2", [], message("assistant", "second answer")),
                current="a2",
            )
        ]
    )

    texts = {turn.text: turn for turn in chat.turns}
    assert chat.title == "A talk"
    assert branch(chat) == ["second question", "second answer"]
    assert [turn.text for turn in chat.turns if turn.parent is None] == ["first question", "second question"]
    answers = [turn.text for turn in chat.turns if turn.parent == texts["second question"].id]
    assert answers == ["second answer", "third answer"]
    assert (texts["first answer"].model, texts["first question"].model) == ("gpt-4o", None)
    assert texts["first answer"].created_ms == 1_700_000_000_500


def test_hidden_messages_are_left_out_and_their_answers_stay() -> None:
    chat = chat_in(
        [
            chatgpt_line(
                message("user", "about me", metadata={"is_visually_hidden_from_conversation": True}),
                message("user", {"content_type": "user_editable_context", "user_profile": "x"}),
                message("system", "no weight", weight=0),
                message("system", "Be brief."),
                message("user", "Hello"),
            )
        ]
    )

    assert said(chat.turns) == [(Role.SYSTEM, "Be brief."), (Role.USER, "Hello")]
    assert chat.turns[1].parent == chat.turns[0].id


def test_thoughts_and_the_use_of_tools_belong_to_one_answer() -> None:
    chat = chat_in(
        [
            chatgpt_line(
                message("user", "Count"),
                message(
                    "assistant",
                    {"content_type": "thoughts", "thoughts": [{"summary": "Counting", "content": "One, two."}]},
                ),
                message("assistant", {"content_type": "code", "language": "python", "text": "print(2)"}),
                message("tool", {"content_type": "execution_output", "text": "2```"}),
                message("assistant", {"content_type": "reasoning_recap", "content": "Thought for 2s"}),
                message("assistant", "Two."),
            )
        ]
    )

    question, answer = chat.turns
    assert question.text == "Count"
    assert answer.text == "```\nprint(2)\n```\n\n````\n2```\n````\n\nTwo."
    assert answer.thinking == "Counting\n\nOne, two."
    assert chat.head == answer.id


def test_what_a_message_shows_besides_text_is_noted_at_its_place() -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "size_bytes": 5}
    spoken = {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"}
    document = [
        chatgpt_line(
            message("user", {"content_type": "multimodal_text", "parts": [image, spoken, "What is this?"]}),
            message("assistant", {"content_type": "canvas", "canvas_id": 5}),
        )
    ]

    chat = next(found.chat for found in imported(document) if isinstance(found, ImportedChat))

    assert branch(chat) == [
        "[not imported: image_asset_pointer]\n\nspoken words\n\nWhat is this?",
        "[not imported: canvas]",
    ]
    assert notes_in(document) == [
        "1 part of the kind “image_asset_pointer” could not be imported; a line in the text marks the place.",
        "1 part of the kind “canvas” could not be imported; a line in the text marks the place.",
    ]


@pytest.mark.parametrize(
    "damaged",
    [
        "no node",
        node("n", "root", ["a"], {"author": None}),
        node("n", "root", ["a"], {"author": {"role": "user"}, "content": "text"}),
        node("n", "root", ["a"], {"author": {"role": "nobody"}, "content": {"content_type": "text", "parts": ["x"]}}),
        node("n", "root", ["a"], message("user", "x") | {"content": None}),
    ],
)
def test_a_damaged_message_is_noted_and_its_answers_stay(damaged: Any) -> None:
    conversation = chatgpt(node("root", None, ["n"]), node("a", "n", [], message("assistant", "Yes")), current="a")
    conversation["mapping"]["n"] = damaged

    first, second = imported([conversation])

    assert first == Note(1, "1 message is damaged and was skipped.")
    assert isinstance(second, ImportedChat)
    assert branch(second.chat) == ["Yes"]


def test_strange_values_of_other_fields_are_taken_for_nothing() -> None:
    conversation = chatgpt_line(
        message("user", {"content_type": "text", "parts": "none"}, metadata=5),
        message("user", {"parts": [None, 5, ["x"], "Hi"]}, create_time=1e400, weight=None),
        message("assistant", "Hm", create_time="yesterday", metadata={"model_slug": 5}),
    ) | {"title": None, "current_node": {"id": "n2"}}

    (*_, found) = imported([conversation])

    assert isinstance(found, ImportedChat)
    assert found.chat.title == ""
    assert branch(found.chat)[-1] == "Hm"
    assert [(turn.created_ms, turn.model) for turn in found.chat.turns] == [(0, None), (0, None)]


def test_a_head_that_is_hidden_is_the_message_above_it() -> None:
    conversation = chatgpt_line(message("user", "Hi"), message("assistant", "Yes"), message("tool", "", weight=0))

    assert branch(chat_in([conversation])) == ["Hi", "Yes"]


def test_conversations_without_messages_are_skipped_with_a_note() -> None:
    good = chatgpt_line(message("user", "Hi"))

    found = imported([chatgpt(node("root", None, []), current="root"), good, {"mapping": {}}])

    assert [each.conversation for each in found if isinstance(each, Note)] == [1, 3]
    assert len(found) == 3


def test_a_title_is_one_line_that_a_list_can_show() -> None:
    conversation = chatgpt_line(message("user", "Hi")) | {"title": "two\nlines " + "x" * 10_000}

    assert chat_in([conversation]).title == "two lines " + "x" * 190


def test_a_single_conversation_may_stand_alone() -> None:
    assert branch(chat_in(chatgpt_line(message("user", "Hi")))) == ["Hi"]


def test_half_an_emoji_becomes_a_replacement_character() -> None:
    chat = chat_in([chatgpt_line(message("user", "\ud83d\ude00 \ud83d"))])

    assert branch(chat) == ["\U0001f600 \ufffd"]

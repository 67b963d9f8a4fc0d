"""LM Studio's conversations keep their versions."""

import pytest

from app.chats.importing.values import ImportedChat, Note
from engine.contracts import Role
from tests.app.chats.importing.examples import branch, chat_in, imported, lm_answer, lm_studio, lm_user, notes_in, said


def test_the_conversation_follows_the_selected_versions() -> None:
    chat = chat_in(
        lm_studio(
            (0, [lm_user("Hi")]),
            (1, [lm_answer("Hello"), lm_answer("Hey", thinking="Greet."), lm_answer("Ho")]),
            (0, [lm_user("Bye")]),
        )
    )

    texts = {turn.text: turn for turn in chat.turns}
    assert chat.title == "A talk"
    assert branch(chat) == ["Hi", "Hey", "Bye"]
    assert [turn.text for turn in chat.turns if turn.parent == texts["Hi"].id] == ["Hello", "Hey", "Ho"]
    assert (texts["Hey"].thinking, texts["Hey"].model, texts["Hey"].created_ms) == (
        "Greet.",
        "qwen3-4b",
        1_700_000_001_000,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"systemPrompt": "Be brief."},
        {"perChatPredictionConfig": {"fields": [{"key": "llm.prediction.systemPrompt", "value": "Be brief."}]}},
    ],
)
def test_a_system_prompt_comes_first(fields: dict[str, object]) -> None:
    chat = chat_in(lm_studio((0, [lm_user("Hi")]), **fields))

    assert said(chat.turns) == [(Role.SYSTEM, "Be brief."), (Role.USER, "Hi")]
    assert branch(chat) == ["Be brief.", "Hi"]


def test_files_and_tool_calls_are_noted_at_their_place() -> None:
    user = lm_user("Read this") | {
        "content": [{"type": "text", "text": "Read this "}, {"type": "file", "name": "a.txt", "sizeBytes": 4}]
    }
    answer = lm_answer("Done")
    answer["steps"].insert(0, {"type": "toolStatus", "callId": 1})
    document = lm_studio((0, [user]), (0, [answer]))

    chat = next(found.chat for found in imported(document) if isinstance(found, ImportedChat))

    assert branch(chat) == ["Read this [not imported: file]", "[not imported: toolStatus]\n\nDone"]
    assert len(notes_in(document)) == 2


def test_a_damaged_version_is_noted_and_what_follows_stays() -> None:
    document = lm_studio((0, [lm_user("Hi")]), (5, [{"role": "nobody"}, lm_answer("Hello")]), (0, [lm_user("Bye")]))
    document["messages"].append(None)

    note, found = imported(document)

    assert note == Note(1, "2 messages are damaged and were skipped.")
    assert isinstance(found, ImportedChat)
    assert branch(found.chat) == ["Hi", "Bye"]


def test_a_file_without_messages_is_a_note() -> None:
    assert notes_in(lm_studio((0, []))) != []


def test_the_answers_of_older_versions_have_plain_content() -> None:
    answer = {"type": "singleStep", "role": "assistant", "content": [{"type": "text", "text": "Hello"}]}

    assert branch(chat_in(lm_studio((0, [lm_user("Hi")]), (0, [answer])))) == ["Hi", "Hello"]

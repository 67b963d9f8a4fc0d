"""Open WebUI's exports keep their trees."""

from app.chats.importing.values import ImportedChat, Note
from app.chats.tree import TurnState
from engine.contracts import Role
from tests.app.chats.importing.examples import branch, chat_in, imported, notes_in, said, webui, webui_message

QUESTION = webui_message("q", None, ["a1", "a2"], "user", "Hi", models=["llama3:8b"])
FIRST = webui_message("a1", "q", [], "assistant", "Hello")
SECOND = webui_message("a2", "q", ["q2"], "assistant", "Hey", modelIdx=1)
LAST = webui_message("q2", "a2", [], "user", "Bye")


def test_answers_of_several_models_are_versions() -> None:
    chat = chat_in([webui(QUESTION, SECOND, FIRST, LAST, current="q2")])

    assert chat.title == "A talk"
    assert branch(chat) == ["Hi", "Hey", "Bye"]
    assert [turn.text for turn in chat.turns if turn.parent == chat.turns[0].id] == ["Hello", "Hey"]
    assert (chat.turns[1].model, chat.turns[1].created_ms) == ("llama3:8b", 1_700_000_000_000)


def test_the_export_of_one_chat_may_stand_alone() -> None:
    row = webui(QUESTION, FIRST, current="a1")

    assert branch(chat_in(row)) == branch(chat_in(row["chat"])) == ["Hi", "Hello"]


def test_a_system_prompt_comes_first() -> None:
    chat = chat_in([webui(QUESTION, FIRST, current="a1", params={"system": "Be brief."})])

    assert said(chat.turns) == [(Role.SYSTEM, "Be brief."), (Role.USER, "Hi"), (Role.ASSISTANT, "Hello")]
    assert branch(chat)[0] == "Be brief."


def test_reasoning_is_thinking_and_the_use_of_tools_is_noted() -> None:
    content = (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n'
        "&gt; Is 1 &lt; 2?\n> Yes.\n</details>\n"
        '<details type="tool_calls" done="true" name="x">\n<summary>Tool</summary>\n</details>\nYes.'
    ).replace("&gt;", ">")
    document = [webui(QUESTION, webui_message("a1", "q", [], "assistant", content), current="a1")]

    note, found = imported(document)

    assert isinstance(note, Note)
    assert "tool_calls" in note.sentence
    assert isinstance(found, ImportedChat)
    answer = found.chat.turns[-1]
    assert (answer.text, answer.thinking) == ("[not imported: tool_calls]\n\nYes.", "Is 1 < 2?\nYes.")


def test_a_block_without_end_and_other_html_stay_text() -> None:
    content = 'a <details><summary>x</summary>y</details> <details type="reasoning">\n> never ends'
    chat = chat_in([webui(QUESTION, webui_message("a1", "q", [], "assistant", content), current="a1")])

    assert branch(chat)[-1] == content


def test_files_and_pictures_are_noted_at_their_place() -> None:
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    message = webui_message("q", None, [], "user", parts, files=[{"type": "file", "name": "a.pdf"}])
    document = [webui(message, current="q")]

    _, _, found = imported(document)

    assert isinstance(found, ImportedChat)
    assert branch(found.chat) == ["Look\n\n[not imported: image_url]\n\n[not imported: file]"]
    assert len(notes_in(document)) == 2


def test_an_answer_that_failed_is_kept_as_failed() -> None:
    failed = webui_message("a1", "q", [], "assistant", "", error={"content": "out of memory"})

    assert chat_in([webui(QUESTION, failed, current="a1")]).turns[-1].state is TurnState.FAILED


def test_old_exports_have_a_list_of_messages() -> None:
    row = webui(current=None)
    del row["chat"]["history"]
    row["chat"]["messages"] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]

    assert branch(chat_in([row])) == ["Hi", "Hello"]


def test_a_damaged_message_is_noted_and_its_answers_stay() -> None:
    row = webui(QUESTION, FIRST, current="a1")
    row["chat"]["history"]["messages"]["q"]["role"] = 5

    note, found = imported([row])

    assert note == Note(1, "1 message is damaged and was skipped.")
    assert isinstance(found, ImportedChat)
    assert branch(found.chat) == ["Hello"]


def test_a_chat_without_messages_is_a_note() -> None:
    assert (
        notes_in([webui(current=None), {"chat": 5}, {"chat": {"history": {"messages": []}}}])
        == ["The conversation has no messages and was skipped."] * 3
    )

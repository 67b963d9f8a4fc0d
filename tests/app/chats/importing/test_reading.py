"""Any file can be tried; what is in it is found, and what is wrong is said."""

import io
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chats.exporting.answer import Answer
from app.chats.exporting.csv_table import answer_as_csv
from app.chats.exporting.json_file import answer_as_json, chats_as_json
from app.chats.importing.reading import MAX_FILE, import_chats, import_file
from app.chats.importing.values import ImportedChat, Note
from app.chats.tree import TurnState, branch_to
from engine.contracts import ProblemError
from tests.app.chats.exporting import examples as own
from tests.app.chats.exporting.examples import BOUNDED
from tests.app.chats.importing.examples import (
    branch,
    chat_in,
    chatgpt_line,
    imported,
    lm_answer,
    lm_studio,
    lm_user,
    message,
    notes_in,
    webui,
    webui_message,
)

CHATGPT = chatgpt_line(message("user", "Hi"), message("assistant", "Hello"))
LM_STUDIO = lm_studio((0, [lm_user("Hi")]), (0, [lm_answer("Hello")]))
WEBUI = webui(
    webui_message("q", None, ["a"], "user", "Hi"), webui_message("a", "q", [], "assistant", "Hello"), current="a"
)


def own_document(**changes: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads("".join(chats_as_json([own.CHAT], own.tokens_of)))
    return document | changes


@pytest.mark.parametrize("document", [[CHATGPT], CHATGPT, LM_STUDIO, [WEBUI], WEBUI, [LM_STUDIO]])
def test_the_program_is_recognised_by_the_content(document: Any) -> None:
    assert branch(chat_in(document)) == ["Hi", "Hello"]


def test_one_file_may_hold_conversations_of_several_programs() -> None:
    assert [type(found) for found in imported([CHATGPT, LM_STUDIO, WEBUI, 5, {"x": 1}])] == [
        *(ImportedChat, ImportedChat, ImportedChat, Note, Note),
    ]


@pytest.mark.parametrize(
    "document",
    [
        *("", "   ", "hello", "[]", "{}", "[1,2]", '{"messages": []}', "[" * 100_000, '{"a":' * 100_000),
        *('{"chats": []}', '{"format": "other", "version": 1, "chats": []}', '{"format": "candor-chats"}', "\xff\0"),
        '{"format": "candor-chats", "version": "1", "chats": []}',
    ],
)
def test_what_is_not_recognised_is_a_problem_with_a_remedy(document: str) -> None:
    with pytest.raises(ProblemError) as caught:
        imported(document)

    assert caught.value.problem.code == "import_not_recognised"
    assert "conversations.json" in caught.value.problem.remedy


def test_an_archive_is_to_be_unpacked_first() -> None:
    with pytest.raises(ProblemError, match="archive"):
        list(import_chats(io.BytesIO(b"PK\x03\x04rest")))


def test_a_file_of_a_newer_candor_is_not_guessed_at() -> None:
    for document in (own_document(version=2), {"format": "candor-answer", "version": 2, "answer": {}}):
        with pytest.raises(ProblemError, match="newer"):
            imported(document)


def test_an_own_file_without_chats_is_no_problem() -> None:
    assert imported(own_document(chats=[])) == []


def test_an_own_file_may_be_written_anew_by_another_program() -> None:
    assert chat_in(json.dumps(own_document(), indent=4)) == own.CHAT


def test_an_own_file_may_have_its_fields_in_another_order() -> None:
    assert chat_in(json.dumps(own_document(), sort_keys=True)) == own.CHAT

    with pytest.raises(ProblemError, match="newer"):
        imported(json.dumps(own_document(version=2), sort_keys=True))


def test_fields_that_a_later_candor_may_add_are_passed_over() -> None:
    document = own_document(later={"a": [1]})
    document["chats"][0]["later"] = 1
    document["chats"][0]["turns"][2]["later"] = 1
    document["chats"][0]["turns"][2]["tokens"][2]["later"] = 1

    assert chat_in(document) == own.CHAT


@pytest.mark.parametrize("write", [answer_as_json, answer_as_csv])
def test_an_exported_answer_becomes_a_conversation(write: Callable[[Answer], Iterator[str]]) -> None:
    (found,) = imported("".join(write(own.ANSWER)))

    assert isinstance(found, ImportedChat)
    assert branch(found.chat) == [own.SECOND.text]
    assert repr(found.tokens) == repr({own.SECOND.id: own.RECORDS})


def test_a_damaged_answer_is_a_note() -> None:
    assert notes_in({"format": "candor-answer", "version": 1, "answer": {"id": 5}}) == [
        "The conversation is damaged and was skipped."
    ]


@pytest.mark.parametrize(
    "changed", [{"role": "nobody"}, {"text": 5}, {"created_ms": -1}, {"created_ms": 2**63}, {"state": ""}]
)
def test_a_damaged_turn_is_noted_and_its_answers_stay(changed: dict[str, Any]) -> None:
    document = own_document()
    document["chats"][0]["turns"][0].update(changed)

    note, found = imported(document)

    assert note == Note(1, "1 message is damaged and was skipped.")
    assert isinstance(found, ImportedChat)
    assert [turn.text for turn in branch_to(found.chat.turns, found.chat.head)] == [own.SECOND.text]


@pytest.mark.parametrize(
    "changed",
    [{"bytes": "!"}, {"id": 2**70}, {"start": -1}, {"part": "x"}, {"logprobs": {"logprob": "x"}}, {"text": None}],
)
def test_damaged_tokens_are_noted_and_the_text_stays(changed: dict[str, Any]) -> None:
    document = own_document()
    document["chats"][0]["turns"][2]["tokens"][3].update(changed)

    note, found = imported(document)

    assert note == Note(1, "1 message lost its damaged measurements.")
    assert found == ImportedChat(own.CHAT, {})


def test_turns_in_a_ring_twice_or_without_parent_do_no_harm() -> None:
    document = own_document()
    first, second, third = document["chats"][0]["turns"]
    document["chats"][0] |= {"head": 99, "turns": [first | {"parent": 8}, second, third | {"parent": 99}, third]}

    *notes, found = imported(document)

    assert [note.sentence for note in notes if isinstance(note, Note)] == [
        "1 message is damaged and was skipped.",
        "2 messages follow none that is there: they begin branches.",
    ]
    assert isinstance(found, ImportedChat)
    assert found.chat.head == 9
    assert len(found.chat.turns) == 3


def test_a_damaged_chat_is_noted_and_the_others_stay() -> None:
    document = own_document()
    chat = document["chats"][0]
    document["chats"] = [5, {"id": "x", "turns": []}, {"turns": 5}, chat]

    *notes, found = imported(document)

    assert [note.conversation for note in notes if isinstance(note, Note)] == [1, 2, 3]
    assert isinstance(found, ImportedChat)
    assert found.chat == own.CHAT


@pytest.mark.parametrize("document", [[CHATGPT] * 3, own_document(chats=own_document()["chats"] * 3)])
def test_a_file_cut_off_gives_what_is_whole(document: Any) -> None:
    text = json.dumps(document)

    found = imported(text[: len(text) - 200])

    assert [type(each) for each in found] == [ImportedChat, ImportedChat, Note]
    assert found[-1] == Note(0, "The file is damaged after conversation 2; what follows could not be read.")


@BOUNDED
@given(st.data())
def test_damage_anywhere_raises_nothing_but_problems(data: st.DataObject) -> None:
    documents = [json.dumps(each) for each in ([CHATGPT], LM_STUDIO, [WEBUI], own_document())]
    text = data.draw(st.sampled_from(documents))
    place = data.draw(st.integers(0, len(text)))
    insert = data.draw(st.sampled_from(["", "null", "{", "[", '"', "-1", "1e999", "NaN", "true", '"\\ud800"']))
    damaged = text[:place] + insert + text[place + data.draw(st.integers(0, 60)) :]
    try:
        for found in imported(damaged):
            assert not isinstance(found, ImportedChat) or _is_sound(found)
    except ProblemError:
        pass


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["user", "a", "q"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@BOUNDED
@given(st.integers(0, 2**32), _json)
def test_any_value_in_any_place_raises_nothing_but_problems(seed: int, value: Any) -> None:
    draw = random.Random(seed)
    document = json.loads(json.dumps(draw.choice([[CHATGPT], LM_STUDIO, [WEBUI], own_document()])))
    spot: Any = document
    while True:
        parent, key = spot, draw.choice(list(spot) if isinstance(spot, dict) else range(len(spot)))
        spot = parent[key]
        if not isinstance(spot, dict | list) or not spot or draw.random() < 0.15:
            break
    parent[key] = value
    try:
        for found in imported(json.dumps(document)):
            assert not isinstance(found, ImportedChat) or _is_sound(found)
    except ProblemError:
        pass


def _is_sound(found: ImportedChat) -> bool:
    """What a store may rely on."""
    seen: set[int | None] = {None}
    for turn in found.chat.turns:
        assert turn.parent in seen
        assert turn.id not in seen
        assert turn.state is not TurnState.STREAMING
        assert 0 <= turn.created_ms < 2**53
        seen.add(turn.id)
    assert found.chat.head in seen
    assert found.tokens.keys() <= seen
    json.dumps([found.chat.title, *(turn.text + turn.thinking for turn in found.chat.turns)]).encode()
    return all("\ud800" not in turn.text + turn.thinking for turn in found.chat.turns)


def test_a_file_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CHATGPT]))

    assert len(list(import_file(path))) == 1


def test_a_file_that_cannot_be_read_is_a_problem_that_names_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)

    for path in (tmp_path / "missing.json", tmp_path, pipe):
        with pytest.raises(ProblemError, match=f"{path.name} cannot be read"):
            list(import_file(path))


def test_a_file_that_is_too_big_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate(MAX_FILE + 1)

    with pytest.raises(ProblemError, match=r"4\.0 GB; up to 4 GB"):
        list(import_file(path))


def test_conversations_come_one_at_a_time() -> None:
    """The second half of the file is damaged, and nobody has noticed when the first conversation is there."""
    text = json.dumps([CHATGPT] * 500)

    found = import_chats(io.BytesIO(text[:-300].encode()))

    assert isinstance(next(found), ImportedChat)

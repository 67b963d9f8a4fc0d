"""What the chat store keeps, and how."""

import re
import sqlite3
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from app.chats.store import ChatStore
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState, branch_to
from engine.contracts import FinishReason, GenerationResult, Part, Problem, ProblemError, Role
from tests.app.chats.examples import STRANGE, tokens

RESULT = GenerationResult(
    finish_reason=FinishReason.END_OF_TURN,
    prompt_tokens=12,
    cached_tokens=3,
    generated_tokens=2,
    seed=7,
    first_token_seconds=0.25,
    decode_seconds=1.0,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[ChatStore]:
    store = ChatStore.open(path, lambda: 5)
    yield store
    store.close()


def reopened(path: Path) -> ChatStore:
    return ChatStore.open(path, lambda: 9)


def answered(store: ChatStore, *texts: str) -> tuple[ChatId, TurnId]:
    """A chat with one question and its finished answer."""
    chat = store.create_chat("model")
    _, answer = store.add_exchange(chat, None, "hello", "model")
    store.append_tokens(answer, tokens(*texts))
    store.end_answer(answer, TurnState.COMPLETE, RESULT)
    return chat, answer


def test_a_finished_exchange_comes_back_whole(path: Path, store: ChatStore) -> None:
    chat, answer = answered(store, "Once", " upon")
    store.keep_title(chat, "A story")
    store.keep_draft(chat, "and then")
    store.close()

    again = reopened(path)
    stored = again.read_chat(chat)
    records = again.read_tokens(answer)
    again.close()

    assert stored == Chat(
        id=chat,
        title="A story",
        model="model",
        draft="and then",
        head=answer,
        turns=(
            Turn(id=TurnId(1), parent=None, role=Role.USER, text="hello", created_ms=5),
            Turn(
                id=answer,
                parent=TurnId(1),
                role=Role.ASSISTANT,
                text="Once upon",
                model="model",
                created_ms=5,
                result=RESULT,
            ),
        ),
    )
    assert records == tokens("Once", " upon")


def test_appended_stretches_are_one_answer(store: ChatStore) -> None:
    chat = store.create_chat()
    _, answer = store.add_exchange(chat, None, "hello", "model")
    store.append_tokens(answer, tokens("Once"))
    store.append_tokens(answer, tokens(" upon", start=4))

    assert store.read_chat(chat).turns[1].text == "Once upon"
    assert store.read_tokens(answer).text == "Once upon"


def test_thinking_is_kept_apart_from_the_answer(store: ChatStore) -> None:
    chat = store.create_chat()
    _, answer = store.add_exchange(chat, None, "hello", "model")
    thought, said = tokens("hm", part=Part.THINKING), tokens("yes", start=2)
    store.append_tokens(answer, TokenRecords(thought.pieces + said.pieces, thought.logprobs + said.logprobs))

    turn = store.read_chat(chat).turns[1]
    assert (turn.thinking, turn.text) == ("hm", "yes")
    assert store.read_tokens(answer).pieces == thought.pieces + said.pieces


def test_strange_tokens_come_back_exactly(store: ChatStore) -> None:
    chat = store.create_chat()
    _, answer = store.add_exchange(chat, None, "hello", "model")
    store.append_tokens(answer, STRANGE)

    assert store.read_tokens(answer) == STRANGE


def test_an_answer_that_was_not_ended_is_interrupted_at_the_next_start(path: Path, store: ChatStore) -> None:
    chat = store.create_chat()
    _, answer = store.add_exchange(chat, None, "hello", "model")
    store.append_tokens(answer, tokens("Once"))
    store.close()

    again = reopened(path)
    turn = again.read_chat(chat).turns[1]
    again.close()

    assert (turn.text, turn.state) == ("Once", TurnState.INTERRUPTED)


def test_how_an_answer_failed_is_kept(store: ChatStore) -> None:
    chat = store.create_chat()
    _, answer = store.add_exchange(chat, None, "hello", "model")
    problem = Problem(code="engine_stopped", sentence="It stopped.", remedy="Send again.")
    store.end_answer(answer, TurnState.FAILED, problem=problem)

    assert store.read_chat(chat).turns[1].problem == problem


def test_questions_with_one_parent_are_versions_and_the_head_chooses_the_branch(store: ChatStore) -> None:
    chat, answer = answered(store, "yes")
    first, _ = store.add_exchange(chat, answer, "one", "model")
    second, last = store.add_exchange(chat, answer, "two", "model")

    stored = store.read_chat(chat)
    assert [turn.text for turn in branch_to(stored.turns, stored.head)] == ["hello", "yes", "two", ""]
    assert [turn.id for turn in stored.turns if turn.parent == answer] == [first, second]
    assert stored.head == last


def test_tabs_keep_their_order(store: ChatStore) -> None:
    chats = [store.create_chat() for _ in range(3)]
    store.keep_tabs([chats[2], chats[0]])

    assert [tab.id for tab in store.open_tabs()] == [chats[2], chats[0]]


def test_a_chat_that_does_not_exist_is_a_problem(store: ChatStore) -> None:
    with pytest.raises(ProblemError) as raised:
        store.read_chat(ChatId(77))
    assert raised.value.problem.code == "chat_missing"


def test_only_the_owner_can_read_the_file_and_its_journals(path: Path, store: ChatStore) -> None:
    answered(store, "yes")

    files = list(path.parent.glob("chats.sqlite3*"))
    assert len(files) == 3
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600] * 3


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux counts what a process writes")
def test_what_is_written_grows_with_the_new_text_not_with_the_chat(store: ChatStore) -> None:
    """Bytes handed to the system, early and late in an answer of 6,000 tokens; checkpoints count as well."""
    _, answer = store.add_exchange(store.create_chat(), None, "hello", "model")
    stretch = tokens(*(f" word{number}" for number in range(10)))

    def written() -> int:
        return int(re.findall(r"wchar: (\d+)", Path("/proc/self/io").read_text())[0])

    marks = [written()]
    for _ in range(3):
        for _ in range(200):
            store.append_tokens(answer, stretch)
        marks.append(written())

    early, _, late = (after - before for before, after in pairwise(marks))
    assert late <= 1.3 * early


def test_finished_turns_are_in_the_search_index(path: Path, store: ChatStore) -> None:
    answered(store, "Once", " upon", " a", " time")
    store.close()

    connection = sqlite3.connect(path)
    found = connection.execute("SELECT rowid FROM turn_search WHERE turn_search MATCH '\"upon a time\"'").fetchall()
    connection.close()

    assert found == [(2,)]

"""What the store does with files whose tables are not its own."""

import sqlite3
from pathlib import Path

import pytest

from app.chats.store import ChatStore
from app.chats.tree import ChatId
from engine.contracts import ProblemError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    rows = connection.execute(statement).fetchall()
    connection.commit()
    connection.close()
    return rows


def test_a_migration_that_fails_leaves_nothing_half_made(path: Path) -> None:
    execute(path, "CREATE TABLE turns (of_another_program TEXT)")

    store = ChatStore.open(path, lambda: 0)
    store.close()

    assert store.problem is not None
    assert execute(path, "SELECT name FROM sqlite_master") == [("turns",)]
    assert execute(path, "PRAGMA user_version") == [(0,)]


def test_a_file_in_which_nothing_can_be_marked_is_only_read(path: Path) -> None:
    store = ChatStore.open(path, lambda: 0)
    chat = store.create_chat()
    store.add_exchange(chat, None, "hello", "model")
    store.close()
    execute(path, "DROP TABLE turn_search")

    store = ChatStore.open(path, lambda: 0)
    texts = [turn.text for turn in store.read_chat(chat).turns]
    with pytest.raises(ProblemError) as refused:
        store.create_chat()
    store.close()

    assert texts == ["hello", ""]
    assert refused.value.problem == store.problem


def test_a_table_that_is_gone_is_a_problem(path: Path) -> None:
    store = ChatStore.open(path, lambda: 0)
    chat: ChatId = store.create_chat()
    store.close()
    execute(path, "DROP TABLE chunks")

    store = ChatStore.open(path, lambda: 0)
    with pytest.raises(ProblemError) as refused:
        store.read_chat(chat)
    store.close()

    assert refused.value.problem.code == "store_unavailable"

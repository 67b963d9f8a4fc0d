"""Exports that are files, and the chats they are made of."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.chats.exporting.file import written_file
from app.chats.exporting.formats import ChatFormat, all_chats, export_chats
from app.chats.importing.reading import import_file
from app.chats.importing.values import ImportedChat
from app.chats.store import ChatStore, ChatSummary
from app.chats.tree import Chat, ChatId
from engine.contracts import Problem, ProblemError
from tests.app.chats.examples import tokens
from tests.app.chats.exporting import examples


def test_a_file_is_there_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "chat.md"
    path.write_text("before")

    with pytest.raises(KeyError):
        _write_half(path)

    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def _write_half(path: Path) -> None:
    with written_file(path) as write:
        write("half")
        raise KeyError


def test_only_the_owner_can_read_a_file(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"

    with written_file(path) as write:
        write("line\r\n")
        write("你")

    assert path.read_bytes() == b"line\r\n\xe4\xbd\xa0"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_a_problem_that_names_it(tmp_path: Path) -> None:
    place = written_file(tmp_path / "missing" / "chat.txt")

    with pytest.raises(ProblemError, match=r"chat\.txt could not be written") as caught, place:
        pass

    assert caught.value.problem.code == "export_failed"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore.open(tmp_path / "chats.sqlite3", lambda: 1_700_000_000_000)
    yield store
    store.close()


def test_everything_in_a_store_comes_back(tmp_path: Path, store: ChatStore) -> None:
    path = tmp_path / "all.json"
    for number in range(3):
        chat = store.create_chat("model")
        store.keep_title(chat, f"chat {number}")
        _, answer = store.add_exchange(chat, None, "Say it", "model")
        store.append_tokens(answer, tokens("It", " is"))
        store.append_tokens(answer, tokens(" said", start=5))
        store.end_answer(answer, examples.SECOND.state, examples.RESULT)

    with written_file(path) as write:
        for piece in export_chats(ChatFormat.JSON, all_chats(store), store.read_tokens):
            write(piece)

    found = list(import_file(path))
    assert [each.chat for each in found if isinstance(each, ImportedChat)] == list(all_chats(store))
    for each in found:
        assert isinstance(each, ImportedChat)
        (turn,) = each.tokens
        assert each.tokens[turn] == store.read_tokens(turn)


class Shelf:
    """Two chats, of which reading the first fails."""

    def __init__(self, code: str) -> None:
        self._code = code

    def list_chats(self) -> tuple[ChatSummary, ...]:
        return tuple(ChatSummary(ChatId(number), "", 0) for number in (1, 2))

    def read_chat(self, chat: ChatId) -> Chat:
        if chat == 1:
            raise ProblemError(Problem(code=self._code, sentence="gone"))
        return Chat(id=chat)


def test_a_chat_deleted_during_the_export_is_left_out() -> None:
    assert list(all_chats(Shelf("chat_missing"))) == [Chat(id=ChatId(2))]


def test_a_store_that_cannot_be_read_ends_the_export() -> None:
    with pytest.raises(ProblemError, match="gone"):
        list(all_chats(Shelf("store_damaged")))

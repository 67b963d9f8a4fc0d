"""What the store does with files that are not as it left them."""

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.chats.chat_file import ChatFile
from app.chats.schema import LATEST
from app.chats.store import ChatStore
from app.chats.tree import ChatId, TurnId, TurnState
from engine.contracts import ProblemError, Role
from tests.app.chats.examples import tokens
from tests.app.chats.full_disk import FullDisk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.sqlite3"


def open_store(path: Path, may_write: bool = True) -> ChatStore:
    return ChatStore.open(path, lambda: 0, may_write)


def two_chats(path: Path) -> tuple[ChatId, ChatId]:
    """Each with a question and an answer of two stretches: turns 1 to 4."""
    store = open_store(path)
    chats = store.create_chat(), store.create_chat()
    for chat in chats:
        _, answer = store.add_exchange(chat, None, "hello", "model")
        store.append_tokens(answer, tokens("Once"))
        store.append_tokens(answer, tokens(" upon", start=4))
        store.end_answer(answer, TurnState.COMPLETE)
    store.keep_tabs(chats)
    store.close()
    return chats


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("UPDATE chunks SET text = 'Onze' WHERE turn = 2 AND ordinal = 0", "Onze upon"),
        ("UPDATE chunks SET text = CAST(x'ff4f' AS TEXT) WHERE turn = 2 AND ordinal = 0", "\ufffdO upon"),
        ("UPDATE chunks SET text = x'00' WHERE turn = 2 AND ordinal = 0", " upon"),
        ("DELETE FROM chunks WHERE turn = 2 AND ordinal = 0", " upon"),
        ("UPDATE turns SET state = 'dancing' WHERE id = 2", "Once upon"),
        ("UPDATE turns SET role = 'nobody' WHERE id = 2", "Once upon"),
        ("UPDATE turns SET created_ms = 'yesterday' WHERE id = 2", "Once upon"),
        ("UPDATE turns SET result = '{\"half\": ' WHERE id = 2", "Once upon"),
        ("UPDATE turns SET result = '{\"prompt_tokens\": null}' WHERE id = 2", "Once upon"),
        ("UPDATE turns SET problem = 7 WHERE id = 2", "Once upon"),
    ],
)
def test_a_damaged_turn_is_shown_as_damaged_with_all_that_can_be_read_and_harms_no_other(
    path: Path, statement: str, text: str
) -> None:
    first, second = two_chats(path)
    change(path, statement)

    store = open_store(path)
    question, answer = store.read_chat(first).turns
    other = store.read_chat(second).turns
    store.read_tokens(answer.id)
    store.close()

    assert (answer.state, answer.text, answer.role) == (TurnState.DAMAGED, text, Role.ASSISTANT)
    assert question.state is TurnState.COMPLETE
    assert [turn.state for turn in other] == [TurnState.COMPLETE] * 2


def test_a_chat_with_damaged_fields_is_read_without_them(path: Path) -> None:
    first, _ = two_chats(path)
    change(path, "UPDATE chats SET title = x'00', model = x'07', draft = x'ff', head = 'here' WHERE id = 1")

    store = open_store(path)
    chat = store.read_chat(first)
    titles = [tab.title for tab in store.open_tabs()]
    store.close()

    assert (chat.title, chat.model, chat.draft, chat.head) == ("", None, "", 2)
    assert len(titles) == 2


@pytest.mark.parametrize("record", ["x'00'", "zeroblob(64)", "substr(record, 1, length(record) / 2)", "'text'"])
def test_a_damaged_token_record_leaves_the_text_without_measurements(path: Path, record: str) -> None:
    two_chats(path)
    change(path, f"UPDATE token_records SET record = {record} WHERE chunk = 2")

    store = open_store(path)
    records = store.read_tokens(TurnId(2))
    store.close()

    assert records.text == "Once upon"
    assert records.logprobs[0] is None
    assert records.logprobs[1] is not None
    assert (records.pieces[0].start, records.pieces[0].end) == (0, 4)


def test_a_damaged_turn_is_never_overwritten(path: Path) -> None:
    first, _ = two_chats(path)
    change(path, "UPDATE chunks SET text = 'Onze' WHERE turn = 2 AND ordinal = 0")

    store = open_store(path)
    store.add_exchange(first, TurnId(2), "go on", "model")
    store.close()

    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT text FROM chunks WHERE turn = 2 ORDER BY ordinal").fetchall()
    connection.close()
    assert rows == [("Onze",), (" upon",)]


@pytest.mark.parametrize("content", [b"\0" * 65_536, b"not a database " * 1000], ids=["zeros", "text"])
def test_a_file_that_is_no_database_is_left_alone_and_the_app_goes_on_without_it(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    store = open_store(path)
    chat = store.create_chat()
    store.add_exchange(chat, None, "hello", "model")
    problem, texts = store.problem, [turn.text for turn in store.read_chat(chat).turns]
    store.close()

    assert problem is not None
    assert problem.code == "store_damaged"
    assert str(path) in problem.sentence
    assert texts == ["hello", ""]
    assert path.read_bytes() == content


@pytest.mark.parametrize("may_write", [True, False])
def test_a_place_that_cannot_be_reached_is_said_and_the_app_goes_on_without_it(tmp_path: Path, may_write: bool) -> None:
    (tmp_path / "file").touch()

    store = open_store(tmp_path / "file" / "chats.sqlite3", may_write)
    chat = store.create_chat()
    store.close()

    assert store.problem is not None
    assert store.problem.code == "store_unavailable"
    assert chat == 1


def test_an_empty_file_is_a_new_one(path: Path) -> None:
    path.touch()

    store = open_store(path)
    store.create_chat()
    store.close()

    assert store.problem is None


def test_pages_overwritten_with_zeros_are_a_problem_of_the_chat_that_had_them(path: Path) -> None:
    store = open_store(path)
    lost, kept = store.create_chat(), store.create_chat()
    for chat, word in ((lost, "lost "), (kept, "kept ")):
        store.add_exchange(chat, None, word * 20_000, "model")
    store.close()
    content = path.read_bytes()
    pages = [content[begin : begin + 4096] for begin in range(0, len(content), 4096)]
    zeroed = [bytes(4096) if b"lost lost" in page and b"kept kept" not in page else page for page in pages]
    assert zeroed != pages
    path.write_bytes(b"".join(zeroed))

    store = open_store(path)
    with_damage = _read_or_problem(store, lost)
    readable = store.read_chat(kept).turns[0]
    store.close()

    assert with_damage in {"store_damaged", TurnState.DAMAGED}
    assert readable.state is TurnState.COMPLETE
    assert readable.text == "kept " * 20_000


def _read_or_problem(store: ChatStore, chat: ChatId) -> str:
    try:
        return store.read_chat(chat).turns[0].state
    except ProblemError as error:
        return error.problem.code


def test_a_file_of_a_newer_version_can_be_read_but_not_changed(path: Path) -> None:
    first, _ = two_chats(path)
    change(path, f"PRAGMA user_version = {LATEST + 1}")
    before = path.read_bytes()

    store = open_store(path)
    texts = [turn.text for turn in store.read_chat(first).turns]
    with pytest.raises(ProblemError) as refused:
        store.keep_draft(first, "new")
    store.close()

    assert store.problem is not None
    assert store.problem.code == refused.value.problem.code == "store_newer"
    assert texts == ["hello", "Once upon"]
    assert path.read_bytes() == before


def test_a_file_that_another_candor_has_open_can_be_read_but_not_changed(path: Path) -> None:
    first, _ = two_chats(path)

    store = open_store(path, may_write=False)
    texts = [turn.text for turn in store.read_chat(first).turns]
    with pytest.raises(ProblemError) as refused:
        store.create_chat()
    store.close()

    assert texts == ["hello", "Once upon"]
    assert refused.value.problem.code == "store_locked"


def test_a_file_locked_for_a_moment_is_a_problem_and_works_again_afterwards(path: Path) -> None:
    first, _ = two_chats(path)
    store = open_store(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ProblemError) as refused:
        store.keep_draft(first, "new")
    other.execute("COMMIT")
    other.close()

    store.keep_draft(first, "new")
    draft = store.read_chat(first).draft
    store.close()

    assert refused.value.problem.code == "store_locked"
    assert draft == "new"


def test_a_full_disk_is_a_problem_and_leaves_everything_as_it_was(path: Path) -> None:
    first, _ = two_chats(path)
    file = ChatFile(path, may_write=True)
    store, disk = ChatStore(file, lambda: 0), FullDisk(file)
    disk.fill()
    with pytest.raises(ProblemError) as refused:
        store.add_exchange(first, TurnId(2), "much " * 10_000, "model")
    kept = [turn.text for turn in store.read_chat(first).turns]
    disk.free()
    store.add_exchange(first, TurnId(2), "much " * 10_000, "model")
    store.close()

    assert refused.value.problem.code == "store_full"
    assert kept == ["hello", "Once upon"]


READ_ONLY = """
import os, sys
from pathlib import Path
from app.chats.store import ChatStore
from engine.contracts import ProblemError
if os.geteuid() == 0:
    os.setuid(65534)
store = ChatStore.open(Path(sys.argv[1]) / "chats.sqlite3", lambda: 0)
assert store.problem is not None and store.problem.code == "store_read_only", store.problem
assert [turn.text for turn in store.read_chat(1).turns] == ["hello", "Once upon"]
try:
    store.create_chat()
except ProblemError as error:
    assert error.problem.code == "store_read_only"
else:
    raise AssertionError("it was written")
"""


def test_a_read_only_file_can_be_read_but_not_changed() -> None:
    # Not below the tests' own folders, which another user, as the reader below may be, cannot enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "chats.sqlite3"
        two_chats(path)
        path.chmod(0o444)
        folder.chmod(0o555)
        outcome = subprocess.run([sys.executable, "-c", READ_ONLY, name], capture_output=True, text=True, check=False)
        folder.chmod(0o755)

    assert outcome.stderr == ""
    assert outcome.returncode == 0

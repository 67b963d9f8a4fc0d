"""Conversations in one SQLite file, written before they are acted on."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from app.chats.chat_file import ChatFile
from app.chats.rows import Chunk, chat_of, checksum_of, chunk_of, tokens_of, turn_of
from app.chats.token_records import TokenRecords, encode_tokens
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState
from engine.contracts import GenerationResult, Part, Problem, ProblemError, Role


class ChatSummary(NamedTuple):
    """A chat as a list shows it."""

    id: ChatId
    title: str
    changed_ms: int


class ChatStore:
    """The one owner of the chat file. Every call is one short transaction and raises `ProblemError` when it fails.

    It is used on the window's loop: a transaction appends a few kilobytes to the journal and waits for no disk, which
    costs less than handing it to a thread, and whatever was acted on is then certainly stored.
    """

    def __init__(self, file: ChatFile, wall_ms: Callable[[], int]) -> None:
        self._file = file
        self._wall_ms = wall_ms

    @classmethod
    def open(cls, path: Path, wall_ms: Callable[[], int], may_write: bool = True) -> Self:
        """Open the file at `path`; answers that the last run left streaming become interrupted.

        `may_write` False: another Candor has it open.
        """
        file = ChatFile(path, may_write)
        store = cls(file, wall_ms)
        if file.is_writable:
            try:
                store._mark_interrupted()
            except ProblemError as error:
                # A file damaged inside is read as far as possible; writing to it might destroy what is left.
                file.forbid_writing(error.problem)
        return store

    @property
    def problem(self) -> Problem | None:
        """What was wrong with the file at opening; it can still be read."""
        return self._file.problem

    def close(self) -> None:
        self._file.close()

    # Reading

    def list_chats(self) -> tuple[ChatSummary, ...]:
        """All chats, the last changed first."""
        rows = self._file.rows("SELECT id, title, changed_ms FROM chats ORDER BY changed_ms DESC, id DESC")
        return tuple(ChatSummary(id_, str(title), changed_ms) for id_, title, changed_ms in rows)

    def open_tabs(self) -> tuple[ChatSummary, ...]:
        """The chats that were open as tabs, from left to right."""
        rows = self._file.rows("SELECT id, title, changed_ms FROM chats WHERE tab IS NOT NULL ORDER BY tab, id")
        return tuple(ChatSummary(id_, str(title), changed_ms) for id_, title, changed_ms in rows)

    def read_chat(self, chat: ChatId) -> Chat:
        """The chat with all its turns' texts; what is damaged is in it, marked as damaged."""
        found = self._file.rows("SELECT title, model, draft, head FROM chats WHERE id = ?", chat)
        if not found:
            raise ProblemError(Problem(code="chat_missing", sentence="This conversation is not in the file any more."))
        return chat_of(chat, found[0], self._read_turns(chat))

    def read_tokens(self, turn: TurnId) -> TokenRecords:
        """The tokens of an answer with what was measured of them."""
        rows = self._file.rows(
            "SELECT ordinal, part, text, checksum, record FROM chunks LEFT JOIN token_records ON chunk = chunks.id"
            " WHERE turn = ? ORDER BY ordinal",
            turn,
        )
        return tokens_of(chunk_of(row) for row in rows)

    def _read_turns(self, chat: ChatId) -> tuple[Turn, ...]:
        chunks: dict[int, list[Chunk]] = {}
        for turn, *chunk in self._file.rows(
            "SELECT turn, ordinal, part, text, checksum FROM turns JOIN chunks ON turn = turns.id WHERE chat = ?"
            " ORDER BY turn, ordinal",
            chat,
        ):
            chunks.setdefault(turn, []).append(chunk_of(chunk))
        rows = self._file.rows(
            "SELECT id, parent, role, state, model, created_ms, result, problem FROM turns WHERE chat = ? ORDER BY id",
            chat,
        )
        return tuple(turn_of(row, chunks.get(row[0], ())) for row in rows)

    # Writing

    def create_chat(self, model: str | None = None) -> ChatId:
        now = self._wall_ms()
        with self._file.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO chats (model, created_ms, changed_ms) VALUES (?, ?, ?)", (model, now, now)
            )
        return ChatId(_new_id(cursor))

    def keep_tabs(self, chats: Sequence[ChatId]) -> None:
        """Remember which chats are open, in this order."""
        with self._file.transaction() as connection:
            connection.execute("UPDATE chats SET tab = NULL WHERE tab IS NOT NULL")
            connection.executemany("UPDATE chats SET tab = ? WHERE id = ?", list(enumerate(chats)))

    def keep_draft(self, chat: ChatId, draft: str) -> None:
        self._change(chat, "draft", draft)

    def keep_model(self, chat: ChatId, model: str) -> None:
        self._change(chat, "model", model)

    def keep_title(self, chat: ChatId, title: str) -> None:
        self._change(chat, "title", title)

    def move_head(self, chat: ChatId, head: TurnId | None) -> None:
        """Show the branch that ends in `head`."""
        self._change(chat, "head", head)

    def add_exchange(self, chat: ChatId, parent: TurnId | None, text: str, model: str) -> tuple[TurnId, TurnId]:
        """Store what the user said below `parent` with an empty answer below that, and make the answer the head."""
        now = self._wall_ms()
        with self._file.transaction() as connection:
            question = _insert_turn(connection, (chat, parent, Role.USER, TurnState.COMPLETE, None, now))
            _insert_chunk(connection, question, Part.ANSWER, text)
            _index(connection, question)
            answer = _insert_turn(connection, (chat, question, Role.ASSISTANT, TurnState.STREAMING, model, now))
            connection.execute("UPDATE chats SET head = ?, changed_ms = ? WHERE id = ?", (answer, now, chat))
        return question, answer

    def append_tokens(self, turn: TurnId, records: TokenRecords) -> None:
        """Add what came since the last call; what is written does not grow with the answer."""
        with self._file.transaction() as connection:
            for part, stretch in records.by_part():
                chunk = _insert_chunk(connection, turn, part, stretch.text)
                connection.execute("INSERT INTO token_records VALUES (?, ?)", (chunk, encode_tokens(stretch)))

    def end_answer(
        self, turn: TurnId, state: TurnState, result: GenerationResult | None = None, problem: Problem | None = None
    ) -> None:
        with self._file.transaction() as connection:
            connection.execute(
                "UPDATE turns SET state = ?, result = ?, problem = ? WHERE id = ?",
                (state, _json(result), _json(problem), turn),
            )
            _index(connection, turn)

    def _change(self, chat: ChatId, column: str, value: str | int | None) -> None:
        with self._file.transaction() as connection:
            connection.execute(f"UPDATE chats SET {column} = ? WHERE id = ?", (value, chat))

    def _mark_interrupted(self) -> None:
        with self._file.transaction() as connection:
            for (turn,) in connection.execute("SELECT id FROM turns WHERE state = 'streaming'").fetchall():
                connection.execute("UPDATE turns SET state = ? WHERE id = ?", (TurnState.INTERRUPTED, turn))
                _index(connection, turn)


def _insert_turn(connection: sqlite3.Connection, row: tuple[object, ...]) -> TurnId:
    """`row` is (chat, parent, role, state, model, created_ms)."""
    cursor = connection.execute(
        "INSERT INTO turns (chat, parent, role, state, model, created_ms) VALUES (?, ?, ?, ?, ?, ?)", row
    )
    return TurnId(_new_id(cursor))


def _insert_chunk(connection: sqlite3.Connection, turn: TurnId, part: Part, text: str) -> int:
    cursor = connection.execute(
        "INSERT INTO chunks (turn, ordinal, part, text, checksum)"
        " VALUES (?1, (SELECT coalesce(max(ordinal) + 1, 0) FROM chunks WHERE turn = ?1), ?2, ?3, ?4)",
        (turn, part, text, checksum_of(text)),
    )
    return _new_id(cursor)


def _index(connection: sqlite3.Connection, turn: TurnId) -> None:
    """Make a finished turn's text findable."""
    texts: Iterable[tuple[str]] = connection.execute("SELECT text FROM chunks WHERE turn = ? ORDER BY ordinal", (turn,))
    text = "".join(text for (text,) in texts)
    connection.execute("INSERT INTO turn_search (rowid, text) VALUES (?, ?)", (turn, text))


def _new_id(cursor: sqlite3.Cursor) -> int:
    if cursor.lastrowid is None:
        raise AssertionError("an INSERT gives a row id")
    return cursor.lastrowid


def _json(ending: GenerationResult | Problem | None) -> str | None:
    return None if ending is None else msgspec.json.encode(ending).decode()

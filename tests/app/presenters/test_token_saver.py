"""A streaming answer is saved within a second, or as soon as that is possible."""

import pytest

from app.chats.chat_file import ChatFile
from app.chats.store import ChatStore
from app.chats.tree import ChatId, TurnId, TurnState
from app.presenters.token_saver import SAVE_AFTER_MS, Ending, TokenSaver
from engine.contracts import Problem
from tests.app.chats.examples import tokens
from tests.app.chats.full_disk import FullDisk
from tests.app.presenters.manual_clock import ManualClock


@pytest.fixture
def answer(store: ChatStore) -> tuple[ChatId, TurnId]:
    chat = store.create_chat()
    return chat, store.add_exchange(chat, None, "hello", "model")[1]


@pytest.fixture
def problems() -> list[Problem | None]:
    return []


@pytest.fixture
def saver(
    store: ChatStore, answer: tuple[ChatId, TurnId], clock: ManualClock, problems: list[Problem | None]
) -> TokenSaver:
    return TokenSaver(store, answer[1], clock, problems.append)


def stored(store: ChatStore, answer: tuple[ChatId, TurnId]) -> tuple[str, TurnState]:
    turn = store.read_chat(answer[0]).turns[-1]
    return turn.text, turn.state


def test_nothing_waits_longer_than_a_second(
    saver: TokenSaver, store: ChatStore, answer: tuple[ChatId, TurnId], clock: ManualClock
) -> None:
    saver.add(*tokens("Once"))
    clock.advance(SAVE_AFTER_MS - 1)
    saver.add(*tokens(" upon", start=4))
    clock.advance(1)

    assert SAVE_AFTER_MS <= 1000
    assert stored(store, answer) == ("Once upon", TurnState.STREAMING)
    assert clock.pending == 0


def test_tokens_come_together_in_one_write(
    saver: TokenSaver, file: ChatFile, answer: tuple[ChatId, TurnId], clock: ManualClock
) -> None:
    for place in range(50):
        saver.add(*tokens(f"{place:04}", start=4 * place))
    clock.advance(SAVE_AFTER_MS)

    assert file.rows("SELECT count(*) FROM chunks WHERE turn = ?", answer[1]) == [(1,)]


def test_ending_saves_the_rest_at_once(
    saver: TokenSaver, store: ChatStore, answer: tuple[ChatId, TurnId], clock: ManualClock
) -> None:
    saver.add(*tokens("Once"))
    saver.end(Ending(TurnState.STOPPED))

    assert stored(store, answer) == ("Once", TurnState.STOPPED)
    assert clock.pending == 0


def test_a_full_disk_is_said_once_and_everything_is_saved_when_there_is_room_again(
    saver: TokenSaver,
    file: ChatFile,
    store: ChatStore,
    answer: tuple[ChatId, TurnId],
    clock: ManualClock,
    problems: list[Problem | None],
) -> None:
    disk, long = FullDisk(file), "long " * 2000
    disk.fill()
    saver.add(*tokens(long))
    clock.advance(SAVE_AFTER_MS)
    saver.add(*tokens("end", start=len(long)))
    saver.end(Ending(TurnState.COMPLETE))
    assert stored(store, answer) == ("", TurnState.STREAMING)

    disk.free()
    clock.advance(SAVE_AFTER_MS)

    assert stored(store, answer) == (f"{long}end", TurnState.COMPLETE)
    assert [problem and problem.code for problem in problems] == ["store_full", "store_full", None]
    assert clock.pending == 0

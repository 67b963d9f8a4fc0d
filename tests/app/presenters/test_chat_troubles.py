"""What a tab does with a message that cannot be answered as it should."""

import sqlite3
from pathlib import Path

import pytest

from app.chats.conversation import Conversation
from app.chats.store import ChatStore
from app.chats.tree import TurnState
from app.presenters.chat import BLANK_HINT, BUSY_HINT, ChatPresenter
from app.presenters.services import Services
from engine.contracts import Message, Problem, Role
from tests.app.presenters.fake_screen import FakeChatView
from tests.app.presenters.stored import stored_branch
from tests.fakes.scripted_engine import ScriptedEngine

TOO_LONG = Problem(code="context_full", sentence="The message is too long.", remedy="Make it shorter.")
CRASHED = Problem(code="engine_stopped", sentence="The engine crashed (SIGSEGV).", remedy="Send it again.")


async def test_a_second_message_while_an_answer_runs_is_refused_with_the_reason(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView
) -> None:
    chat.send_soon("hello")
    await engine.session.says("Once")

    await chat.send("again")

    assert view.status == BUSY_HINT
    assert len(engine.sessions) == 1
    await chat.close()


@pytest.mark.parametrize("text", ["", "   ", "\n\t \n"])
async def test_a_blank_message_is_refused_with_a_hint(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, text: str
) -> None:
    await chat.send(text)

    assert view.status == BLANK_HINT
    assert view.messages == {}
    assert engine.sessions == []
    assert chat.chat_id is None


async def test_a_message_too_long_for_the_model_goes_back_to_the_composer_and_spoils_nothing_that_follows(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView
) -> None:
    long = "word " * 200_000
    turn = chat.send_soon(long)
    await engine.session.fails(TOO_LONG)
    await turn
    assert (view.problem, view.draft) == (TOO_LONG, long)
    assert view.texts == [long, ""]

    chat.send_soon("short")
    request = await engine.session.opened()

    assert request.messages == (Message(Role.USER, "short"),)
    assert view.texts == ["short", ""]
    assert (view.problem, view.draft) == (None, "")
    await chat.close()


async def test_an_engine_that_dies_in_mid_answer_keeps_the_text_and_is_started_again(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, store: ChatStore
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once upon")
    listed = len(engine.folders)
    await engine.session.fails(CRASHED)
    await turn

    assert view.problem == CRASHED
    assert view.last.text == "Once upon"
    assert stored_branch(store, chat)[1] == (Role.ASSISTANT, "Once upon", TurnState.FAILED)

    again = chat.send_soon("go on")
    await engine.session.says("a time")
    await engine.session.ends()
    await again
    assert len(engine.folders) == listed + 1
    assert view.last.text == "a time"
    assert view.problem is None


async def test_lone_surrogates_do_not_stop_a_message(chat: ChatPresenter, engine: ScriptedEngine) -> None:
    chat.send_soon("a\ud800b")
    request = await engine.session.opened()

    assert request.messages == (Message(Role.USER, "a?b"),)
    await chat.close()


async def test_stopping_within_the_thinking_keeps_it_and_the_next_message_goes_through_at_once(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, store: ChatStore
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.thinks("let me see")
    await chat.stop()
    await turn

    again = chat.send_soon("quick")
    request = await engine.session.opened()
    await engine.session.says("yes")
    await engine.session.ends()
    await again

    assert chat.chat_id is not None
    stopped = store.read_chat(chat.chat_id).turns[1]
    assert (stopped.thinking, stopped.text, stopped.state) == ("let me see", "", TurnState.STOPPED)
    assert request.messages == (Message(Role.USER, "hello\n\nquick"),)
    assert view.generating == [True, False, True, False]


async def test_stopping_while_the_model_loads_leaves_a_usable_composer(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView
) -> None:
    for _ in range(3):
        turn = chat.send_soon("hello")
        await engine.session.progresses(1, 10, "load")
        assert view.status == "Loading Starter… 10 %"
        await chat.stop()
        await turn

    assert view.generating == [True, False] * 3
    assert view.send.enabled


async def test_a_store_that_cannot_be_written_keeps_the_message_in_the_composer(
    tmp_path: Path, view: FakeChatView, chat: ChatPresenter, engine: ScriptedEngine
) -> None:
    other = sqlite3.connect(tmp_path / "chats.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await chat.send("hello")
    other.execute("COMMIT")
    other.close()

    assert engine.sessions == []
    assert view.draft == "hello"
    assert view.problem is not None
    assert view.problem.code == "store_locked"


async def test_an_answer_without_a_word_says_so(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, services: Services
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.ends()
    await turn
    assert view.last.note == "the model said nothing"

    reopened = FakeChatView()
    ChatPresenter(reopened, services, Conversation(services.store, chat.chat_id), lambda: None).show()
    assert reopened.last.note == "the model said nothing"


async def test_that_nothing_is_saved_stays_on_the_screen_while_messages_are_sent(
    tmp_path: Path, services: Services, engine: ScriptedEngine, view: FakeChatView
) -> None:
    not_a_folder = tmp_path / "home"
    not_a_folder.write_text("")
    store = ChatStore.open(not_a_folder / "chats.sqlite3", lambda: 0)
    chat = ChatPresenter(view, services._replace(store=store), Conversation(store), lambda: None)
    chat.show()
    await services.shelf.refresh()
    assert store.problem is not None

    turn = chat.send_soon("hello")
    await engine.session.says("Once")
    assert view.problem == store.problem
    await engine.session.fails(CRASHED)
    await turn
    assert view.problem == CRASHED

    chat.send_soon("again")
    await engine.session.says("Twice")
    assert view.problem == store.problem
    await chat.close()
    store.close()

"""An engine that does not end what it was told to end."""

import asyncio

import pytest

from app.chats.conversation import Conversation
from app.chats.store import ChatStore
from app.chats.tree import TurnState
from app.presenters.chat import STOP_MS, ChatPresenter
from app.presenters.model_shelf import ModelShelf
from app.presenters.remedies import ENGINE_STUCK
from app.presenters.services import Services
from engine.contracts import Role
from tests.app.presenters.fake_screen import FakeChatView
from tests.app.presenters.manual_clock import ManualClock
from tests.app.presenters.stored import stored_branch
from tests.fakes.scripted_engine import ScriptedEngine


@pytest.fixture
async def chat(services: Services, engine: ScriptedEngine, view: FakeChatView) -> ChatPresenter:
    """A tab whose engine ends a stuck session only when it is restarted."""

    async def restart() -> None:
        await engine.session.gives_up()

    shelf = ModelShelf(engine, services.settings, services.tasks, restart)
    chat = ChatPresenter(view, services._replace(shelf=shelf), Conversation(services.store), lambda: None)
    chat.show()
    await shelf.refresh()
    return chat


async def stuck_stop(chat: ChatPresenter, engine: ScriptedEngine, services: Services) -> "asyncio.Task[None]":
    """The user has pressed Stop in mid-answer, and the engine has not noticed."""
    chat.send_soon("hello")
    await engine.session.says("Once upon")
    engine.session.ignores_cancellation = True
    stopping = services.tasks.start(chat.stop(), "stop")
    await asyncio.sleep(0)
    return stopping


async def test_an_engine_that_does_not_stop_is_given_up_on_at_a_click_and_what_was_written_is_kept(
    chat: ChatPresenter,
    engine: ScriptedEngine,
    view: FakeChatView,
    clock: ManualClock,
    services: Services,
    store: ChatStore,
) -> None:
    stopping = await stuck_stop(chat, engine, services)
    clock.advance(STOP_MS - 1)
    assert view.problems == []
    clock.advance(1)
    assert (view.problem, view.remedy_label) == (ENGINE_STUCK, "Restart the engine")

    await chat.apply_remedy()
    await stopping
    await chat.close()

    assert (view.problem, view.generating) == (None, [True, False])
    assert stored_branch(store, chat)[1] == (Role.ASSISTANT, "Once upon", TurnState.STOPPED)


async def test_an_engine_that_stops_late_after_all_is_not_said_to_be_stuck_any_more(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, clock: ManualClock, services: Services
) -> None:
    stopping = await stuck_stop(chat, engine, services)
    clock.advance(STOP_MS)

    await engine.session.gives_up()
    await stopping

    assert view.problem is None
    await chat.close()


async def test_an_engine_that_stops_in_time_is_never_said_to_be_stuck(
    chat: ChatPresenter, engine: ScriptedEngine, view: FakeChatView, clock: ManualClock
) -> None:
    turn = chat.send_soon("hello")
    await engine.session.says("Once upon")
    await chat.stop()
    await turn
    clock.advance(STOP_MS)

    assert view.problems == []

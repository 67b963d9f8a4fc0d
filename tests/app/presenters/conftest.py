"""A chat between a scripted engine, a real store and a fake screen."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.bridge.task_owner import TaskOwner
from app.chats.chat_file import ChatFile
from app.chats.conversation import Conversation
from app.chats.store import ChatStore
from app.presenters.chat import ChatPresenter
from app.presenters.model_shelf import ModelShelf
from app.presenters.services import Services
from app.presenters.window import WindowPresenter
from app.settings.settings import Settings
from tests.app.presenters.fake_screen import FakeChatView, FakeWindowView
from tests.app.presenters.manual_clock import ManualClock
from tests.fakes.scripted_engine import ScriptedEngine


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ChatFile]:
    file = ChatFile(tmp_path / "chats.sqlite3", may_write=True)
    yield file
    file.close()


@pytest.fixture
def store(file: ChatFile) -> ChatStore:
    return ChatStore(file, lambda: 0)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
async def services(
    tmp_path: Path, store: ChatStore, clock: ManualClock, engine: ScriptedEngine
) -> AsyncIterator[Services]:
    unexpected: list[BaseException] = []
    tasks = TaskOwner(unexpected.append)
    settings = Settings(tmp_path / "settings.json")
    yield Services(engine, store, settings, ModelShelf(engine, settings, tasks), tasks, clock)
    await engine.aclose()
    await tasks.aclose()
    assert unexpected == []


@pytest.fixture
def view() -> FakeChatView:
    return FakeChatView()


@pytest.fixture
async def chat(services: Services, view: FakeChatView) -> ChatPresenter:
    """An empty tab in front, with the engine's models listed."""
    chat = ChatPresenter(view, services, Conversation(services.store), lambda: None)
    chat.show()
    await services.shelf.refresh()
    return chat


@pytest.fixture
def window_view() -> FakeWindowView:
    return FakeWindowView()


@pytest.fixture
async def window(services: Services, window_view: FakeWindowView) -> WindowPresenter:
    """The window as it is right after its start."""
    window = WindowPresenter(window_view, services, lambda view, chat: None)
    await window.start()
    return window

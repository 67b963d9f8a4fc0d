"""The real window with the real store, around an engine that a test speaks for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, NamedTuple, TypeVar

from app.bootstrap import RunningApp, running
from app.desktop.folders import Folders
from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from engine.contracts import Engine, Role
from engine.host.client import EngineClient
from tests.fakes.scripted_engine import ScriptedEngine, ScriptedGeneration

E = TypeVar("E", bound=Engine)


class OpenWindow(NamedTuple, Generic[E]):
    """A window as its user sees it, with its engine."""

    window: MainWindow
    app: RunningApp
    engine: E

    @property
    def pane(self) -> ChatPane:
        """The tab in front."""
        pane = self.window.current_pane
        assert pane is not None
        return pane

    @property
    def shown_text(self) -> str:
        """The text of the last message in front."""
        self.pane.transcript.show_arrived()
        return "".join(piece.text for piece in self.pane.transcript.page.messages[-1].pieces)

    async def presses_send(self, text: str) -> None:
        """Type `text` into the tab in front and press Send, once that can be pressed."""
        self.pane.composer.edit.setPlainText(text)
        await until(self.pane.composer.send.isEnabled, 60)
        self.pane.composer.send.click()

    async def asks(self, text: str) -> None:
        """Send `text`, and return when it is on the screen with an answer begun below."""
        messages = self.pane.transcript.page.messages
        before = {message.key for message in messages}
        await self.presses_send(text)
        await until(lambda: messages and messages[-1].role is Role.ASSISTANT and messages[-1].key not in before)

    async def opens_tab(self) -> None:
        before = self.pane
        self.window.tabs.new_tab.click()
        await until(lambda: self.window.current_pane not in (None, before))


async def sends(opened: OpenWindow[ScriptedEngine], text: str) -> ScriptedGeneration:
    """Send `text` in the tab in front; the session that this opens."""
    before = len(opened.engine.sessions)
    await opened.presses_send(text)
    await until(lambda: len(opened.engine.sessions) > before)
    return opened.engine.sessions[-1]


@asynccontextmanager
async def open_window(folders: Folders, engine: E) -> AsyncIterator[OpenWindow[E]]:
    """The window on the screen with its first tab; closed at the end."""
    window = MainWindow()
    window.show()
    restart = engine.restart if isinstance(engine, EngineClient) else None
    async with running(window, folders, engine, restart) as app:
        await until(lambda: window.current_pane is not None)
        yield OpenWindow(window, app, engine)
        window.close()
        await app.presenter.closed.wait()
    window.deleteLater()


@asynccontextmanager
async def scripted_window(folders: Folders) -> AsyncIterator[OpenWindow[ScriptedEngine]]:
    """The window with an engine that the test speaks for."""
    async with open_window(folders, ScriptedEngine()) as opened:
        yield opened


async def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Give the loop turns until `condition` holds: what a user would see, not an event that a test could await."""
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)

"""The real window with the real store, around an engine that a test speaks for."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from app.bootstrap import RunningApp, running
from app.desktop.folders import Folders
from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from tests.fakes.scripted_engine import ScriptedEngine, ScriptedGeneration


class OpenWindow(NamedTuple):
    """A window as its user and its engine see it."""

    window: MainWindow
    app: RunningApp
    engine: ScriptedEngine

    @property
    def pane(self) -> ChatPane:
        """The tab in front."""
        pane = self.window.current_pane
        assert pane is not None
        return pane

    async def sends(self, text: str) -> ScriptedGeneration:
        """Type `text` into the tab in front and press Send; the session that this opens."""
        before = len(self.engine.sessions)
        self.pane.composer.edit.setPlainText(text)
        self.pane.composer.send.click()
        await until(lambda: len(self.engine.sessions) > before)
        return self.engine.sessions[-1]

    async def opens_tab(self) -> ChatPane:
        before = self.pane
        self.window.tabs.new_tab.click()
        await until(lambda: self.window.current_pane not in (None, before))
        return self.pane


@asynccontextmanager
async def open_window(folders: Folders) -> AsyncIterator[OpenWindow]:
    """The window on the screen with its first tab ready; closed at the end."""
    window, engine = MainWindow(), ScriptedEngine()
    window.show()
    async with running(window, folders, engine) as app:
        opened = OpenWindow(window, app, engine)
        await until(lambda: window.current_pane is not None and opened.pane.picker.count() > 0)
        yield opened
        window.close()
        await app.presenter.closed.wait()
    window.deleteLater()


async def until(condition: Callable[[], object]) -> None:
    """Give the loop turns until `condition` holds: what a user would see, not an event that a test could await."""
    async with asyncio.timeout(10):
        while True:
            if condition():
                return
            await asyncio.sleep(0.005)

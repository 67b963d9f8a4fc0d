"""The whole program in one process tree: the real window, the real engine process, the real starter model."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.bootstrap import RunningApp, running
from app.desktop.folders import Folders
from app.settings.declarations import MAX_TOKENS, TEMPERATURE
from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from engine.contracts import EngineStatus
from engine.host.client import EngineClient

PATIENCE_SECONDS = 90


async def until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Let the loop run until `condition` holds; TimeoutError after `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - a screen has no event to wait for
            await asyncio.sleep(0.01)


class Candor:
    """What a user does with the program, with what only a test may look at."""

    def __init__(self, window: MainWindow, app: RunningApp, engine: EngineClient) -> None:
        self.window = window
        self.app = app
        self._engine = engine

    @property
    def pane(self) -> ChatPane:
        """The tab in front."""
        assert self.window.current_pane is not None
        return self.window.current_pane

    async def is_ready(self) -> None:
        """Wait until a message can be sent."""
        await until(lambda: self.window.current_pane is not None and self.app.services.shelf.choose(None) is not None)

    async def open_tab(self) -> ChatPane:
        before = self.window.current_pane
        self.window.tabs.new_tab.click()
        await until(lambda: self.window.current_pane not in (None, before))
        await self.is_ready()
        return self.pane

    def send(self, text: str) -> ChatPane:
        """Type and send in the tab in front."""
        self.pane.composer.edit.setPlainText(text)
        self.pane.composer.send.click()
        return self.pane

    async def engine_status(self) -> EngineStatus:
        return await self._engine.status()


def is_answering(pane: ChatPane) -> bool:
    """Whether the pane offers Stop, in front or not."""
    return not pane.composer.stop.isHidden()


def answer_of(pane: ChatPane) -> str:
    """The newest answer's text as the transcript holds it."""
    pane.transcript.show_arrived()
    messages = pane.transcript.page.messages
    return "".join(piece.text for piece in messages[-1].pieces) if messages else ""


@asynccontextmanager
async def candor(_: QApplication, home: Path, max_tokens: int = 60) -> AsyncIterator[Candor]:
    """The program with an empty chat store; closed like a user closes it."""
    window = MainWindow()
    window.show()
    engine = EngineClient()
    async with running(window, Folders(home), engine) as app:
        app.services.settings[MAX_TOKENS] = max_tokens
        app.services.settings[TEMPERATURE] = 0.0
        try:
            yield Candor(window, app, engine)
        finally:
            window.close()
            await app.presenter.closed.wait()

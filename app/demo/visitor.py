"""Hands and eyes for the window: clicks, typing, the mouse, pictures."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.presenters.remedies import Remedy
from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from app.views.theme import DARK, palette_of
from app.views.transcript import HoveredToken

_LOOK_SECONDS = 0.05
_SWEEP_PIXELS = 8
INSTALL_SECONDS = 120


class DemoFailedError(Exception):
    """What did not happen, in one sentence."""


class Visitor:
    """Does with the window what a user would, through the same widgets."""

    def __init__(self, window: MainWindow, pictures: Path) -> None:
        self._window = window
        self._pictures = pictures

    @property
    def pane(self) -> ChatPane:
        """The tab in front."""
        if self._window.current_pane is None:
            raise DemoFailedError("The window has no tab.")
        return self._window.current_pane

    async def sees(self, what: str, condition: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until `condition` holds; `what` completes the sentence "... did not happen"."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    if condition():
                        return
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise DemoFailedError(f"{what} did not happen within {seconds:.0f} seconds.{self._excuse()}") from None

    async def enters(self) -> None:
        await self.sees("The first tab", lambda: self._window.current_pane is not None)

    async def sends(self, text: str) -> ChatPane:
        """Write `text` in the tab in front and send it as soon as that is possible; the tab.

        Where there is no model yet, the window's own offer of one is taken.
        """
        pane = self.pane
        send, offer = pane.composer.send, pane.banner.button
        pane.composer.edit.setPlainText(text)
        await self.sees("Finding a model", lambda: send.isEnabled() or offer.isVisible())
        if offer.isVisible() and offer.text() == Remedy.GET_STARTER:
            offer.click()
            await self.sees("Starting the installation", lambda: not offer.isVisible())
            await self.sees("The installation", lambda: send.isEnabled() or offer.isVisible(), INSTALL_SECONDS)
        if not send.isEnabled():
            raise DemoFailedError(f"Nothing can be sent.{self._excuse()}")
        send.click()
        await self.sees("Sending", lambda: bool(pane.transcript.page.messages))
        return pane

    async def opens_tab(self) -> None:
        before = self.pane
        self._window.tabs.new_tab.click()
        await self.sees("The new tab", lambda: self._window.current_pane not in (None, before))

    async def goes_to_the_other_tab(self) -> None:
        before = self.pane
        self._window.tabs.step(1)
        await self.sees("The other tab", lambda: self._window.current_pane not in (None, before))

    def toggles_heatmap(self) -> None:
        self._window.tabs.heatmap.click()

    def darkens(self) -> None:
        """Offscreen there is no system theme to change, so the palette stands for it."""
        QApplication.setPalette(palette_of(DARK))

    async def takes_picture(self, name: str) -> None:
        """Save what the window shows, once it has been painted."""
        await asyncio.sleep(0.1)
        self._pictures.mkdir(parents=True, exist_ok=True)
        path = self._pictures / f"{name}.png"
        if not self._window.grab().save(str(path)):
            raise DemoFailedError(f"The picture {path} could not be written.")

    async def points_at_least_certain_token(self) -> HoveredToken:
        """Move the mouse over the whole transcript, then to the token the model was least sure of."""
        found: list[HoveredToken] = []
        transcript = self.pane.transcript

        def note(hovered: HoveredToken | None) -> None:
            if hovered is not None and hovered.logprobs is not None and hovered.logprobs.logprob is not None:
                found.append(hovered)

        transcript.token_hovered.connect(note)
        viewport = transcript.viewport()
        for y in range(0, viewport.height(), _SWEEP_PIXELS):
            for x in range(0, viewport.width(), _SWEEP_PIXELS):
                _move_mouse(viewport, QPointF(x, y))
        transcript.token_hovered.disconnect(note)
        if not found:
            raise DemoFailedError("No token under the mouse had a probability.")
        least_certain = min(found, key=_logprob)
        _move_mouse(viewport, QPointF(least_certain.place.center()))
        await self.sees("The card beside the token", self.pane.card.isVisible)
        return least_certain

    def _excuse(self) -> str:
        """What the window itself says is wrong."""
        pane = self._window.current_pane
        return f" The window says: {pane.banner.sentence.text()}" if pane and pane.banner.isVisible() else ""


def _move_mouse(viewport: QWidget, point: QPointF) -> None:
    no_button = Qt.MouseButton.NoButton
    place = viewport.mapToGlobal(point)
    move = QMouseEvent(QEvent.Type.MouseMove, point, place, no_button, no_button, Qt.KeyboardModifier.NoModifier)
    QCoreApplication.sendEvent(viewport, move)


def _logprob(hovered: HoveredToken) -> float:
    measured = hovered.logprobs
    return 0.0 if measured is None or measured.logprob is None else measured.logprob

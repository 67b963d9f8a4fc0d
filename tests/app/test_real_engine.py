"""The real window with the real engine process."""

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from app.bridge import loop
from app.chats.store import ChatStore
from app.chats.tree import TurnState
from app.desktop.folders import Folders
from engine.host.client import EngineClient
from engine.host.launch import launch_engine
from tests.app.window_of_its_own import OpenWindow, open_window, until

Scene = Callable[[OpenWindow[EngineClient]], Coroutine[Any, Any, None]]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """The window's own; the engine keeps to the user's models."""
    return Folders(tmp_path / "home")


@pytest.fixture
def play(qapp: QApplication, folders: Folders) -> Callable[[EngineClient, Scene], None]:
    async def main(engine: EngineClient, scene: Scene) -> None:
        async with open_window(folders, engine) as opened:
            engine.on_exit(opened.app.presenter.engine_ended)
            await scene(opened)

    return lambda engine, scene: loop.run(qapp, main(engine, scene))


Play = Callable[[EngineClient, Scene], None]


@pytest.mark.starter
def test_two_tabs_are_answered_by_the_starter_model_and_stopping_one_leaves_the_other_alone(
    play: Play, folders: Folders
) -> None:
    async def scene(opened: OpenWindow[EngineClient]) -> None:
        first = opened.pane
        await opened.presses_send("Count from one to ten.")
        await opened.opens_tab()
        await opened.presses_send("Why is the sky blue?")
        await until(lambda: first.status.text().startswith("Answering"), 120)
        await until(lambda: opened.shown_text, 60)

        opened.pane.composer.stop.click()
        await until(opened.pane.composer.send.isVisible, 5)
        status = await opened.engine.status()
        assert status.active_rows + status.preparing_rows + status.queued_rows == 1
        assert opened.pane.status.text().startswith("Stopped")

        opened.window.tabs.step(1)
        opened.pane.composer.stop.click()
        await until(opened.pane.composer.send.isVisible, 5)
        assert (await opened.engine.status()).is_idle

    play(EngineClient(), scene)

    store = ChatStore.open(folders.chats, lambda: 0)
    answers = [store.read_chat(tab.id).turns[-1] for tab in store.open_tabs()]
    tokens = [store.read_tokens(answer.id) for answer in answers]
    store.close()
    assert [answer.state for answer in answers] == [TurnState.STOPPED] * 2
    for records in tokens:
        assert records.pieces
        assert all(measured is not None and measured.top and len(measured.top) == 10 for measured in records.logprobs)


def test_an_engine_that_cannot_start_is_said_with_a_way_on(play: Play) -> None:
    async def scene(opened: OpenWindow[EngineClient]) -> None:
        for _ in range(2):
            await until(opened.pane.banner.isVisible)
            assert opened.pane.banner.sentence.text().startswith("The engine cannot")
            assert opened.pane.banner.button.text() == "Try again"
            opened.pane.banner.button.click()
            await until(opened.pane.banner.isHidden)

    play(EngineClient(partial(launch_engine, engine="no.such.module:build")), scene)

"""The real window with the real engine process."""

import asyncio
import os
import signal
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
from app.settings.declarations import TEMPERATURE
from engine.host.client import EngineClient
from engine.host.engine_handle import EngineHandle
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
            # Greedy, so that the answers' lengths are the same in every run.
            opened.app.services.settings[TEMPERATURE] = 0.0
            await scene(opened)

    return lambda engine, scene: loop.run(qapp, main(engine, scene))


Play = Callable[[EngineClient, Scene], None]
STORY = "Tell me a long story about a fox and a river."


@pytest.mark.starter
def test_two_tabs_are_answered_by_the_starter_model_and_stopping_one_leaves_the_other_alone(
    play: Play, folders: Folders
) -> None:
    async def scene(opened: OpenWindow[EngineClient]) -> None:
        first = opened.pane
        await opened.asks(STORY)
        await opened.opens_tab()
        await opened.asks(STORY)
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
        shelf, banner = opened.app.services.shelf, opened.pane.banner
        await until(banner.isVisible, 60)
        assert banner.sentence.text().startswith("The engine cannot")
        assert banner.button.text() == "Try again"

        tried: list[str | None] = []
        shelf.subscribe(lambda: tried.append(shelf.problem.code if shelf.problem else None))
        banner.button.click()
        await until(lambda: tried == [None, "engine_cannot_start"])
        await until(banner.isVisible)

    play(EngineClient(partial(launch_engine, engine="no.such.module:build")), scene)


@pytest.mark.starter
def test_an_engine_that_hangs_in_mid_answer_is_replaced_at_a_click(play: Play) -> None:
    async def scene(opened: OpenWindow[EngineClient]) -> None:
        await opened.asks(STORY)
        await until(lambda: opened.pane.status.text().startswith("Answering"), 60)
        hung = opened.engine.engine_pid
        assert hung is not None
        os.kill(hung, signal.SIGSTOP)

        opened.pane.composer.request_stop()
        await until(lambda: opened.pane.banner.button.text() == "Restart the engine")
        opened.pane.banner.button.click()
        await until(opened.pane.banner.isHidden)
        await until(opened.pane.composer.stop.isHidden)
        await until(lambda: opened.engine.engine_pid not in (None, hung), 60)

    play(EngineClient(), scene)


@pytest.mark.starter
def test_an_engine_killed_in_mid_answer_is_said_and_the_next_message_is_answered(play: Play) -> None:
    async def scene(opened: OpenWindow[EngineClient]) -> None:
        await opened.asks(STORY)
        await until(lambda: opened.pane.status.text().startswith("Answering"), 60)
        killed = opened.engine.engine_pid
        assert killed is not None
        text = opened.shown_text

        os.kill(killed, signal.SIGKILL)
        await until(opened.pane.banner.isVisible)
        assert "killed" in opened.pane.banner.sentence.text()
        assert opened.shown_text.startswith(text)

        await opened.asks(STORY)
        await until(lambda: opened.shown_text, 60)
        assert opened.pane.banner.isHidden()
        assert opened.engine.engine_pid not in (None, killed)

    play(EngineClient(), scene)


@pytest.mark.starter
def test_a_message_of_a_megabyte_gets_one_sentence_from_the_real_engine_and_comes_back(play: Play) -> None:
    async def scene(opened: OpenWindow[EngineClient]) -> None:
        text = "words and " * 100_000
        await opened.asks(text)
        await until(opened.pane.banner.isVisible, 60)
        assert opened.pane.composer.text() == text

        opened.pane.show_draft("")
        await opened.asks(STORY)
        await until(lambda: opened.shown_text, 60)

    play(EngineClient(), scene)


def test_an_engine_that_cannot_be_launched_is_launched_twice_for_each_try(play: Play) -> None:
    launches: list[None] = []

    def launch() -> EngineHandle:
        launches.append(None)
        raise OSError("No such file or directory")

    async def scene(opened: OpenWindow[EngineClient]) -> None:
        await until(opened.pane.banner.isVisible)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(launches) == 2

        opened.pane.banner.button.click()
        await until(lambda: len(launches) == 4)
        await until(opened.pane.banner.isVisible)

    play(EngineClient(launch), scene)

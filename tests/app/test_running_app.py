"""The real window, from the first picture to the last task."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.bridge import loop
from app.chats.store import ChatStore
from app.chats.tree import TurnState
from app.desktop.folders import Folders
from app.presenters.chat import BLANK_HINT
from engine.contracts import Problem
from tests.app.window_of_its_own import OpenWindow, scripted_window, sends, until
from tests.fakes.scripted_engine import ScriptedEngine

Scene = Callable[[OpenWindow[ScriptedEngine]], Coroutine[Any, Any, None]]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "home")


@pytest.fixture
def play(qapp: QApplication, folders: Folders) -> Callable[[Scene], None]:
    """Run a scene in an open window; afterwards nothing may be left running."""

    async def main(scene: Scene) -> None:
        async with scripted_window(folders) as opened:
            await scene(opened)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"

    return lambda scene: loop.run(qapp, main(scene))


def test_a_message_is_answered_token_by_token_and_stopped_by_the_button(play: Callable[[Scene], None]) -> None:
    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        session = await sends(opened, "hello")
        await session.says("Once upon")
        assert opened.shown_text == "Once upon"
        assert opened.pane.composer.stop.isVisible()
        assert opened.pane.status.text().startswith("Answering")

        opened.pane.composer.stop.click()
        await until(opened.pane.composer.send.isVisible)

        assert session.reasons == ["requested"]
        assert opened.shown_text == "Once upon"
        assert opened.pane.status.text().startswith("Stopped · 2 tokens")

    play(scene)


def test_closing_the_window_in_mid_answer_ends_everything_and_keeps_the_text(
    play: Callable[[Scene], None], folders: Folders
) -> None:
    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        await (await sends(opened, "one")).says("uno")
        await opened.opens_tab()
        await (await sends(opened, "two")).says("dos")

    play(scene)

    store = ChatStore.open(folders.chats, lambda: 0)
    answers = [store.read_chat(tab.id).turns[-1] for tab in store.open_tabs()]
    store.close()
    assert [(answer.text, answer.state) for answer in answers] == [
        ("uno", TurnState.STOPPED),
        ("dos", TurnState.STOPPED),
    ]


def test_closing_a_tab_ends_its_session_alone(play: Callable[[Scene], None]) -> None:
    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        first = await sends(opened, "one")
        await first.says("uno")
        await opened.opens_tab()
        second = await sends(opened, "two")
        await second.says("dos")

        opened.window.menus.close_tab.trigger()
        await until(lambda: second.reasons)
        await first.says(" tres")

        assert second.reasons == ["consumer_closed"]
        assert first.reasons == []
        assert opened.shown_text == "uno tres"

    play(scene)


def test_a_second_window_on_the_same_folder_shows_the_chats_but_changes_nothing(
    play: Callable[[Scene], None], folders: Folders
) -> None:
    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        session = await sends(opened, "one")
        await session.says("uno")
        await session.ends()
        async with scripted_window(folders) as second:
            assert "another Candor" in second.pane.banner.sentence.text()
            assert second.shown_text == "uno"
            await second.presses_send("more")
            await until(lambda: second.pane.composer.text() == "more")
            assert second.engine.sessions == []

    play(scene)


def test_a_message_of_a_megabyte_ends_with_a_sentence_and_the_text_in_the_composer(
    play: Callable[[Scene], None],
) -> None:
    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        text = "words and " * 100_000
        session = await sends(opened, text)
        problem = Problem(code="context_full", sentence="The message is too long.", remedy="Make it shorter.")
        await session.fails(problem)
        await until(opened.pane.banner.isVisible)

        assert opened.pane.banner.sentence.text() == problem.sentence
        assert opened.pane.composer.text() == text
        session = await sends(opened, "short")
        await session.says("yes")
        await session.ends()
        assert opened.shown_text == "yes"

    play(scene)


def test_an_unexpected_error_is_said_in_the_window_and_logged(
    play: Callable[[Scene], None], folders: Folders, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails() -> None:
        raise RuntimeError("what the user wrote")

    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        opened.app.services.tasks.start(fails(), "fails")
        await until(opened.window.tabs.engine_state.text)
        assert "went wrong" in opened.window.tabs.engine_state.text()

    play(scene)

    caplog.clear()
    assert "RuntimeError" in folders.log.read_text()
    assert "what the user wrote" not in folders.log.read_text()


def test_no_module_of_the_app_brings_a_model_library_into_its_process() -> None:
    code = (
        "import importlib, pkgutil, sys, app;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(app.__path__, 'app.')];"
        "print(sorted({m.partition('.')[0] for m in sys.modules}"
        " & {'mlx', 'mlx_lm', 'transformers', 'tokenizers', 'huggingface_hub', 'numpy'}))"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "[]\n"


def test_the_window_is_painted_before_asyncio_or_the_store_are_imported() -> None:
    code = (
        "import sys; from app.__main__ import open_window; opened = open_window();"
        "print(sorted({'asyncio', 'qasync', 'sqlite3', 'msgspec'} & set(sys.modules)))"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "[]\n"


def test_sigterm_quits_the_real_app_within_three_seconds(candor_home: Path) -> None:
    command = [sys.executable, "-m", "app"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as child:
        _wait_for(candor_home / "logs" / "engine.log")
        child.send_signal(signal.SIGTERM)
        _, errors = child.communicate(timeout=3)

    assert child.returncode == 0
    assert errors == b""


def _wait_for(path: Path) -> None:
    import time

    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("blank", ["", " \n "])
def test_enter_on_a_blank_composer_says_why_nothing_happens(play: Callable[[Scene], None], blank: str) -> None:
    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        opened.pane.composer.edit.setPlainText(blank)
        QTest.keyClick(opened.pane.composer.edit, Qt.Key.Key_Return)
        assert opened.pane.status.text() == BLANK_HINT
        assert opened.engine.sessions == []

    play(scene)


def test_a_home_that_cannot_be_made_is_said_and_chatting_works_all_the_same(
    play: Callable[[Scene], None], folders: Folders
) -> None:
    folders.root.touch()

    async def scene(opened: OpenWindow[ScriptedEngine]) -> None:
        assert str(folders.chats) in opened.pane.banner.sentence.text()
        session = await sends(opened, "hello")
        await session.says("Once")
        assert opened.shown_text == "Once"

    play(scene)

"""The demonstration tells what it sees, and says so when something fails."""

import asyncio
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.bridge import loop
from app.chats.store import ChatStore
from app.chats.tree import TurnState
from app.demo.__main__ import demonstrate
from app.demo.narrator import Narrator
from app.desktop.folders import Folders
from app.views.main_window import MainWindow
from engine.host.client import EngineClient
from engine.host.launch import launch_engine
from tests.app.chats.examples import tokens


@pytest.fixture
def store(tmp_path: Path) -> ChatStore:
    return ChatStore.open(tmp_path / "chats.sqlite3", lambda: 0)


async def test_words_are_printed_by_the_line_while_they_come_and_each_line_names_its_chat(
    store: ChatStore, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = store.create_chat()
    _, answer = store.add_exchange(chat, None, "hello", "model")
    narrator = Narrator(store)
    narrator.follow(chat, "fox")
    telling = asyncio.create_task(narrator.narrate())

    store.append_tokens(answer, tokens("A short"))
    await asyncio.sleep(0)
    assert capsys.readouterr().out == ""

    store.append_tokens(answer, tokens(" line.\n", "And " + "more " * 20, start=7))
    store.end_answer(answer, TurnState.COMPLETE)
    telling.cancel()
    narrator.finish(chat, "Done")
    store.close()
    await asyncio.wait({telling})

    printed = capsys.readouterr().out.splitlines()
    assert printed[-1] == "[fox] — Done"
    assert all(line.startswith("[fox] ") and len(line) <= 82 for line in printed)
    assert " ".join(line.removeprefix("[fox] ") for line in printed[:-1]).split() == [
        "A", "short", "line.", "And", *["more"] * 20,
    ]  # fmt: skip


def test_an_engine_that_cannot_start_ends_the_demonstration_with_a_sentence(
    qapp: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    window = MainWindow()
    window.show()
    engine = EngineClient(partial(launch_engine, engine="no.such.module:build"))

    code = loop.run(qapp, demonstrate(window, Folders(tmp_path / "home"), engine))
    window.deleteLater()

    assert code == 1
    assert "The window says: The engine cannot" in capsys.readouterr().err

"""`kill -9` at any moment loses at most a second of an answer."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.chats.store import ChatStore
from app.chats.tree import TurnState
from engine.contracts import Role

ROUNDS = 4
SAVED_WITHIN_SECONDS = 1.0

STREAMING_APP = """
import asyncio, sys, time
from pathlib import Path
from PySide6.QtWidgets import QApplication
from app.bridge import loop
from app.desktop.folders import Folders
from tests.app.window_of_its_own import scripted_window, sends

async def talk(name, session):
    for number in range(10_000):
        await session.says(f" {name}{number}")
        print(name, number, time.time(), flush=True)
        await asyncio.sleep(0.005)

async def main():
    async with scripted_window(Folders(Path(sys.argv[1]))) as opened:
        first = await sends(opened, "one")
        await opened.opens_tab()
        second = await sends(opened, "two")
        await asyncio.gather(talk("a", first), talk("b", second))

loop.run(QApplication([]), main())
"""


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_the_question_is_there_and_all_of_the_answer_but_the_last_second(tmp_path: Path, seed: int) -> None:
    root = tmp_path / "home"
    lines, killed_at = _stream_and_kill(root, after_lines=random.Random(seed).randint(100, 800))

    store = ChatStore.open(root / "candor.sqlite3", lambda: 0)
    chats = [store.read_chat(tab.id) for tab in store.open_tabs()]
    texts = {turn.text.lstrip()[:1]: turn.text for chat in chats for turn in chat.turns if turn.role is Role.ASSISTANT}
    states = {turn.state for chat in chats for turn in chat.turns if turn.role is Role.ASSISTANT}
    store.close()

    assert [chat.turns[0].text for chat in chats] == ["one", "two"]
    assert states == {TurnState.INTERRUPTED}
    for name in "ab":
        text = texts.get(name, "")
        saved = text.count(name)
        assert text == "".join(f" {name}{number}" for number in range(saved))
        due = [line for line in lines if line[0] == name and line[2] < killed_at - SAVED_WITHIN_SECONDS]
        assert saved >= len(due)


def _stream_and_kill(root: Path, after_lines: int) -> tuple[list[tuple[str, int, float]], float]:
    """What the app said on the screen until it was killed, and when that was."""
    lines = []
    command = [sys.executable, "-c", STREAMING_APP, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            name, number, when = line.split()
            lines.append((name, int(number), float(when)))
            if len(lines) == after_lines:
                break
        killed_at = time.time()
        child.kill()
    return lines, killed_at

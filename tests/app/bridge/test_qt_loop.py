"""Qt's loop as the asyncio loop."""

import asyncio
import logging
import os
import signal
import subprocess
import sys

import pytest
from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication

from app.bridge import loop
from app.bridge.faults import Faults
from app.bridge.loop_clock import LoopClock
from app.bridge.signals import connect
from app.bridge.task_owner import TaskOwner
from app.bridge.unix_signals import QUIT_SIGNALS, calling_on


class Button(QObject):
    clicked = Signal(str, int)


def test_a_signal_starts_a_coroutine_with_its_arguments(qapp: QApplication) -> None:
    heard: list[tuple[str, int]] = []

    async def main() -> None:
        arrived = asyncio.Event()

        async def note(text: str, number: int) -> None:
            await asyncio.sleep(0)
            heard.append((text, number))
            arrived.set()

        tasks, button = TaskOwner(lambda error: pytest.fail(repr(error))), Button()
        connect(button.clicked, note, tasks)
        button.clicked.emit("hello", 7)
        await arrived.wait()
        await tasks.aclose()

    loop.run(qapp, main())

    assert heard == [("hello", 7)]


def _signal_from_elsewhere(number: signal.Signals) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", f"import os; os.kill({os.getpid()}, {int(number)})"])


@pytest.mark.parametrize("number", QUIT_SIGNALS)
def test_a_unix_signal_is_a_call_on_the_loop_while_qt_waits(qapp: QApplication, number: signal.Signals) -> None:
    before = signal.getsignal(number)

    async def main() -> None:
        called = asyncio.Event()
        # From another process, because a signal to oneself is handled before Qt waits.
        with calling_on(QUIT_SIGNALS, called.set), _signal_from_elsewhere(number):
            async with asyncio.timeout(10):
                await called.wait()

    loop.run(qapp, main())

    assert signal.getsignal(number) == before


def test_errors_of_slots_and_callbacks_are_logged_once_without_their_message(
    qapp: QApplication, caplog: pytest.LogCaptureFixture
) -> None:
    announced: list[None] = []

    def fails() -> None:
        raise ValueError("what the user wrote")

    async def main() -> None:
        done = asyncio.Event()
        with Faults(lambda: announced.append(None)).caught():
            QTimer.singleShot(0, fails)
            asyncio.get_running_loop().call_soon(fails)
            QTimer.singleShot(20, done.set)
            await done.wait()

    loop.run(qapp, main())

    records = [record for record in caplog.records if record.levelno >= logging.ERROR]
    caplog.clear()
    assert len(announced) == len(records) == 2
    assert all("what the user wrote" not in record.getMessage() for record in records)


def test_the_clock_calls_later_unless_stopped(qapp: QApplication) -> None:
    called: list[str] = []

    async def main() -> None:
        clock, done = LoopClock(), asyncio.Event()
        began = clock.now_ms()
        clock.call_later(5, lambda: called.append("stopped")).stop()
        clock.call_later(10, done.set)
        await done.wait()
        assert clock.now_ms() - began >= 9

    loop.run(qapp, main())

    assert called == []

"""The Qt loop run as the asyncio loop."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from PySide6.QtWidgets import QApplication
from qasync import QEventLoop

R = TypeVar("R")


def run(application: QApplication, main: Coroutine[Any, Any, R]) -> R:
    """Run `main` to its end on Qt's loop; only that ends the loop, never the closing of a window."""
    application.setQuitOnLastWindowClosed(False)
    with asyncio.Runner(loop_factory=lambda: QEventLoop(application)) as runner:
        return runner.run(main)

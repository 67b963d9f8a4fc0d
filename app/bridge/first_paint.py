"""The window on the screen before anything else is even imported."""

from typing import Final

from PySide6.QtCore import QElapsedTimer, QEventLoop
from PySide6.QtWidgets import QApplication

_PATIENCE_MS: Final = 500
"""A window that is never exposed, because another covers it, must not hold the start up."""


def paint_first(application: QApplication) -> None:
    """Let Qt show and paint what is visible, then return. A window system may take a moment to expose a window.

    This is the only turn of Qt's loop outside the asyncio loop; it ends before that is made, so no coroutine can live.
    """
    application.setQuitOnLastWindowClosed(False)
    waited = QElapsedTimer()
    waited.start()
    while True:
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        if waited.elapsed() > _PATIENCE_MS or all(window.isExposed() for window in application.topLevelWindows()):
            return

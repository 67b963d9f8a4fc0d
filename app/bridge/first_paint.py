"""The window on the screen before anything else is even imported."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication


def paint_first(application: QApplication) -> None:
    """Let Qt show and paint what is visible, then return.

    This is the only turn of Qt's loop outside the asyncio loop; it ends before that is made, so no coroutine can live.
    """
    application.setQuitOnLastWindowClosed(False)
    QTimer.singleShot(0, application.exit)
    application.exec()

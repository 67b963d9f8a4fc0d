"""A window, and a pane in it, as the user has them on the screen."""

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from app.views.transcript import Transcript


@pytest.fixture
def window(qtbot: QtBot) -> MainWindow:
    window = MainWindow()
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    return window


@pytest.fixture
def pane(window: MainWindow, qtbot: QtBot) -> ChatPane:
    pane = window.add_tab("tab", "Chat")
    window.select_tab("tab")
    qtbot.waitUntil(pane.transcript.isVisible)
    QApplication.sendPostedEvents()  # the pane takes its final size
    return pane


@pytest.fixture
def transcript(pane: ChatPane) -> Transcript:
    return pane.transcript

"""Opens the window."""

import os
import sys

os.environ["QT_API"] = "pyside6"

from PySide6.QtWidgets import QApplication

from app.bridge.first_paint import paint_first
from app.views.main_window import MainWindow


def open_window() -> tuple[QApplication, MainWindow]:
    """The window, painted; still empty."""
    application = QApplication(sys.argv)
    application.setApplicationName("Candor")
    window = MainWindow()
    window.show()
    paint_first(application)
    return application, window


def main() -> None:
    """The window is on the screen before the rest of the app is imported."""
    application, window = open_window()
    from app import bootstrap

    bootstrap.run(application, window)


if __name__ == "__main__":
    main()

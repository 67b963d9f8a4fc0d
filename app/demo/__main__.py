"""Plays the demonstration in the real window, offscreen, with the real engine."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

os.environ["QT_API"] = "pyside6"
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication

from app.bootstrap import running
from app.bridge import loop
from app.demo.play import play
from app.demo.visitor import DemoFailedError, Visitor
from app.desktop.folders import Folders
from app.views.main_window import MainWindow
from engine.contracts import Engine
from engine.host.client import EngineClient

PICTURES = Path("build/demo")
SECONDS = 170
"""A demonstration that hangs must end with a sentence too."""


def main() -> int:
    """The exit code. Chats and settings of the demonstration are not the user's, and go away with it."""
    application = QApplication(sys.argv)
    window = MainWindow()
    window.show()
    with tempfile.TemporaryDirectory(prefix="candor-demo-") as folder:
        return loop.run(application, demonstrate(window, Folders(Path(folder)), EngineClient()))


async def demonstrate(window: MainWindow, folders: Folders, engine: Engine) -> int:
    """Play, and close the window; the exit code."""
    async with running(window, folders, engine) as app:
        try:
            async with asyncio.timeout(SECONDS):
                await play(app, Visitor(window, PICTURES))
        except DemoFailedError as error:
            return _failed(str(error))
        except TimeoutError:
            return _failed(f"It took longer than {SECONDS} seconds.")
        finally:
            window.close()
            await app.presenter.closed.wait()
    print(f"Pictures are in {PICTURES}/.", flush=True)
    return 0


def _failed(sentence: str) -> int:
    print(f"The demonstration failed. {sentence}", file=sys.stderr, flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())

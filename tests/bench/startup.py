"""The time until the window is on the screen, against a bare Qt window in the same environment."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from tests.bench._figure import Figure

ROUNDS = 9

_BARE = """
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget
application = QApplication([])
window = QWidget()
window.resize(1040, 760)
window.show()
QTimer.singleShot(0, application.exit)
application.exec()
print("up", flush=True)
"""
_CANDOR = """
from app.__main__ import open_window
opened = open_window()
print("up", flush=True)
"""


def figures() -> list[Figure]:
    """Medians of alternating runs, from the start of the process to the painted window, bytecode being there."""
    bare, candor = [], []
    with tempfile.TemporaryDirectory() as bytecode:
        for code in (_BARE, _CANDOR):
            _seconds_until_up(code, bytecode)
        for _ in range(ROUNDS):
            bare.append(_seconds_until_up(_BARE, bytecode))
            candor.append(_seconds_until_up(_CANDOR, bytecode))
    ratio = statistics.median(candor) / statistics.median(bare)
    return [
        Figure(name="window up", value=statistics.median(candor) * 1000, unit="ms", versus="process start"),
        Figure(name="bare window up", value=statistics.median(bare) * 1000, unit="ms", versus="process start"),
        Figure(name="window up, ratio", value=ratio, unit="x", versus="a bare PySide6 window"),
    ]


def _seconds_until_up(code: str, bytecode: str) -> float:
    environment = {"QT_QPA_PLATFORM": "offscreen", **os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        line = child.stdout.readline()
        seconds = time.perf_counter() - began
    assert line == b"up\n", "the window did not come up"
    return seconds

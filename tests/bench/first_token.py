"""From `make run` to the first token on a warm machine: set-up check, window, engine, loading, prompt."""

import os
import statistics
import subprocess
import sys
import time

from tests.bench._figure import Figure

ROUNDS = 3


def _set_up() -> float:
    """Seconds that a repeated set-up takes."""
    started = time.perf_counter()
    subprocess.run(["sh", "packaging/find_python.sh", "packaging/prepare.py"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _first_token() -> float:
    """Seconds from the start of the app's process to the first token on the screen."""
    environment = {**os.environ, "QT_QPA_PLATFORM": os.environ.get("QT_QPA_PLATFORM", "offscreen")}
    started = time.perf_counter()
    command = [sys.executable, "-m", "tests.bench._first_token"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as app:
        assert app.stdout is not None
        if app.stdout.readline() != "first token\n":
            raise RuntimeError("the app ended before its first token")
        return time.perf_counter() - started


def figures() -> list[Figure]:
    """Medians of a few runs, after one that warms the disk."""
    _first_token()
    set_up = statistics.median(_set_up() for _ in range(ROUNDS))
    first = statistics.median(_first_token() for _ in range(ROUNDS))
    return [
        {"name": "first_token.set_up", "value": set_up, "unit": "s", "versus": ""},
        {"name": "first_token.app", "value": first, "unit": "s", "versus": ""},
        {"name": "first_token.make_run", "value": set_up + first, "unit": "s", "versus": ""},
    ]

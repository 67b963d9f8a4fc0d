"""What every test is held to: offscreen Qt, nothing logged unasked, no task and no process left behind."""

import asyncio
import inspect
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["QT_API"] = "pyside6"


def _children() -> set[int]:
    """Process ids of our own children, where the system tells them (Linux)."""
    children: set[int] = set()
    for listing in Path("/proc/self/task").glob("*/children"):
        try:
            children.update(int(pid) for pid in listing.read_text().split())
        except OSError:
            continue  # the thread ended while we looked
    return children


@pytest.fixture(autouse=True)
def leaves_no_process() -> Iterator[None]:
    """A test ends the processes that it started, zombies included."""
    before = _children()
    yield
    left = _children() - before
    assert not left, f"processes left behind: {sorted(left)}"


@pytest.fixture(autouse=True)
def logs_nothing_unasked(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A warning in the log fails the test; one that is expected is asserted on, then taken with `caplog.clear()`."""
    yield
    unasked = [record.getMessage() for record in caplog.get_records("call") if record.levelno >= logging.WARNING]
    assert not unasked, f"logged unasked: {unasked}"


@pytest.fixture
def candor_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own, in which nothing is installed."""
    home = tmp_path / "home"
    monkeypatch.setenv("CANDOR_HOME", str(home))
    return home


def _leaving_no_task(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., Coroutine[Any, Any, None]]:
    @wraps(test)
    async def run(*args: Any, **kwargs: Any) -> None:
        before = asyncio.all_tasks()
        await test(*args, **kwargs)
        left = {task for task in asyncio.all_tasks() - before if not task.done()}
        assert not left, f"tasks left behind: {left}"

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever starts a task ends it: what an asynchronous test leaves running fails it."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _leaving_no_task(item.obj)
        if item.get_closest_marker("mac") and sys.platform != "darwin":
            item.add_marker(pytest.mark.skip(reason="only a Mac can run this"))

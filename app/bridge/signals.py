"""The one place where a Qt signal becomes a coroutine."""

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import SignalInstance

from app.bridge.task_owner import TaskOwner


def connect(signal: SignalInstance, work: Callable[..., Coroutine[Any, Any, object]], tasks: TaskOwner) -> None:
    """Each emission starts `work` with the signal's arguments, as a task of `tasks`."""

    def start(*arguments: object) -> None:
        tasks.start(work(*arguments), work.__qualname__)

    signal.connect(start)

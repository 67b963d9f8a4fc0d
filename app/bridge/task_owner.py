"""The owner of every task in the window's process."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class TaskOwner:
    """Starts tasks, reports each unexpected error once, and ends them all when it closes.

    Confined to the app's loop. A task that fails takes no other with it.
    """

    def __init__(self, report: Callable[[BaseException], None]) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    def start(self, work: Coroutine[Any, Any, R], name: str) -> asyncio.Task[R]:
        """Run `work` until it ends or the owner closes. After closing, the task is cancelled before its first step."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._settle)
        if self._closed:
            task.cancel()
        return task

    @property
    def running(self) -> int:
        return len(self._tasks)

    async def aclose(self) -> None:
        """Cancel everything and return when nothing runs; the caller's own task is left alone. Idempotent."""
        self._closed = True
        while waiting := self._tasks - {asyncio.current_task()}:
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)

    def _settle(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error)

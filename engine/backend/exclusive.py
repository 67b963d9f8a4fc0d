"""Work that needs the device for itself, between the units of the rows."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

R = TypeVar("R")


class ExclusiveTasks:
    """Short jobs in their order, one a turn: saving caches, restoring them. Belongs to the engine's loop."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._jobs: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()

    def __len__(self) -> int:
        return len(self._jobs)

    async def run(self, job: Callable[[], R]) -> R:
        """Call `job` when its turn comes; returns or raises what it does. A cancelled caller takes its job back."""
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._jobs.append((job, done))
        self._on_change()
        return await done

    def advance(self) -> None:
        """Run the next job whose caller still waits."""
        while self._jobs:
            job, done = self._jobs.popleft()
            if done.done():
                continue
            try:
                done.set_result(job())
            except Exception as error:  # noqa: BLE001 - a border: it belongs to whoever asked for the job
                done.set_exception(error)
            return

    def fail_all(self, error: BaseException) -> None:
        """Nothing will run any more."""
        while self._jobs:
            _, done = self._jobs.popleft()
            if not done.done():
                done.set_exception(error)

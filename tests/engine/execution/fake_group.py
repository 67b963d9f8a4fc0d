"""A group of rows that take turns, and can be told to misbehave."""

import asyncio
from collections.abc import Callable

from engine.contracts import MixedDemand, Release


class FakeGroup:
    """Rows are numbers of tokens still to decode. `calls` lists what the scheduler asked; `on` acts inside a call."""

    def __init__(self, *queued: int, max_active: int = 2) -> None:
        self.waiting = list(queued)
        self.rows: list[int] = []
        self.max_active = max_active
        self.calls: list[str] = []
        self.on: dict[str, Callable[[], None]] = {}
        self.work = asyncio.Event()
        self.closed = False
        self.admission_held = False
        self.preparing = False
        self.preparing_rows: int | None = None
        self.preparing_tokens: int | None = None
        self.next_preparation_tokens: int | None = None
        self.max_preparation_tokens: int | None = None
        self.max_iteration_tokens: int | None = None
        self.can_prepare_more = False
        self.preparation_published_output = False
        self.mixed_preparation: MixedDemand | None = None
        self.pending_tasks = 0
        self.supports_tasks = False
        self.supports_mixed = False
        self.shares_execution = False
        self.held = 0
        self.failed: list[BaseException] = []
        self.active_failures: list[BaseException] = []
        self.takes = True

    @property
    def queued(self) -> int:
        return len(self.waiting)

    @property
    def active(self) -> int:
        return len(self.rows)

    def submit(self, tokens: int) -> None:
        if self.closed:
            raise RuntimeError("closed")
        self.waiting.append(tokens)
        self.work.set()

    def close(self) -> None:
        self.closed = True
        self.work.set()

    def prune_cancelled(self) -> None:
        self._called("prune_cancelled")

    def reserve_residency(self) -> Release:
        self._called("reserve_residency")
        return self._hold("release_residency")

    def admit_next(self) -> bool:
        self._called("admit_next")
        if self.takes:
            self.rows.append(self.waiting.pop(0))
        return self.takes

    def can_burst(self) -> bool:
        self._called("can_burst")
        return True

    def fail_active(self, error: BaseException) -> None:
        self.active_failures.append(error)
        self.rows.clear()
        self._called("fail_active")

    def fail_all(self, error: BaseException) -> None:
        self.failed.append(error)
        self.rows.clear()
        self.waiting.clear()
        self.closed = True
        self._called("fail_all")

    async def wait_for_work(self) -> None:
        self._called("wait_for_work")
        while not (self.closed or self.waiting):
            self.work.clear()
            await self.work.wait()

    async def acquire_execution(self) -> Release:
        self._called("acquire_execution")
        await asyncio.sleep(0)
        return self._hold("release_execution")

    async def advance_task(self) -> None:
        self._called("advance_task")

    async def advance_mixed(self, token_budget: float) -> None:
        self._called("advance_mixed")

    async def advance_preparation(self) -> None:
        self._called("advance_preparation")

    async def advance(self) -> None:
        self._called("advance")
        self.rows = [left - 1 for left in self.rows if left > 1]

    def _hold(self, name: str) -> Release:
        self.held += 1

        def release() -> None:
            self.held -= 1
            self._called(name)

        return release

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.on:
            self.on[name]()

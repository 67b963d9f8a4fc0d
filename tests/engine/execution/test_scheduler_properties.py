"""What holds of the scheduler however rows come, grow, fail and are cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.contracts import MixedDemand, Release
from engine.execution.scheduler import drive
from tests.engine.execution.fakes import ManualClock


@dataclass(eq=False)
class Row:
    """One request: so many prompt tokens to read, then so many to decode."""

    prompt: int
    decode: int
    cancelled: bool = False
    ended: str = ""

    def end(self, how: str) -> None:
        assert not self.ended, "a row ended twice"
        self.ended = how


class SimulatedGroup:
    """A group with queue, preparation and batch, which notices when two calls are in flight."""

    def __init__(self, clock: ManualClock, *, max_active: int, mixed: bool, shared: bool, tasks: bool) -> None:
        self._clock = clock
        self.max_active = max_active
        self.supports_mixed = mixed
        self.shares_execution = shared
        self.supports_tasks = tasks
        self.closed = False
        self.admission_held = False
        self.can_prepare_more = True
        self.preparation_published_output = False
        self.pending_tasks = 0
        self.max_preparation_tokens: int | None = 12
        self.max_iteration_tokens: int | None = None
        self.failing = ""
        self.waiting: list[Row] = []
        self.in_preparation: list[Row] = []
        self.rows: list[Row] = []
        self.leases: list[str] = []
        self._in_flight = ""
        self._work = asyncio.Event()

    queued = property(lambda self: len(self.waiting))
    active = property(lambda self: len(self.rows))
    preparing = property(lambda self: bool(self.in_preparation))
    preparing_rows = property(lambda self: len(self.in_preparation))
    preparing_tokens = property(lambda self: sum(row.prompt for row in self.in_preparation))
    next_preparation_tokens = property(lambda self: self.waiting[0].prompt if self.waiting else None)

    @property
    def mixed_preparation(self) -> MixedDemand | None:
        return MixedDemand(len(self.rows), 1) if self.supports_mixed else None

    def changed(self) -> None:
        self._work.set()

    def prune_cancelled(self) -> None:
        for stage in (self.waiting, self.in_preparation, self.rows):
            for row in [row for row in stage if row.cancelled]:
                stage.remove(row)
                row.end("cancelled")

    def reserve_residency(self) -> Release:
        return self._lease("residency")

    def admit_next(self) -> bool:
        assert not self.admission_held, "a held group admitted"
        row = self.waiting.pop(0)
        (self.in_preparation if row.prompt else self.rows).append(row)
        assert len(self.rows) + len(self.in_preparation) <= self.max_active, "more rows than the batch holds"
        return True

    def can_burst(self) -> bool:
        return True

    def fail_active(self, error: BaseException) -> None:
        for row in self.rows:
            row.end("failed")
        self.rows.clear()

    def fail_all(self, error: BaseException) -> None:
        self.closed = True
        for row in [*self.waiting, *self.in_preparation, *self.rows]:
            row.end("failed")
        for stage in (self.waiting, self.in_preparation, self.rows):
            stage.clear()

    async def wait_for_work(self) -> None:
        assert self.leases == [], "waits for work with leases held"
        await self._alone("wait_for_work", self._wait())

    async def acquire_execution(self) -> Release:
        await self._alone("acquire_execution")
        return self._lease("execution")

    async def advance_task(self) -> None:
        assert not self.admission_held, "a held group ran a task"
        await self._alone("advance_task")
        self.pending_tasks -= 1

    async def advance_mixed(self, token_budget: float) -> None:
        assert token_budget >= len(self.rows) + 1
        await self._alone("advance_mixed")
        self._decode()
        self._prepare()

    async def advance_preparation(self) -> None:
        await self._alone("advance_preparation")
        self._prepare()

    async def advance(self) -> None:
        await self._alone("advance")
        self._decode()

    def _decode(self) -> None:
        for row in list(self.rows):
            row.decode -= 1
            if row.decode <= 0:
                self.rows.remove(row)
                row.end("completed")

    def _prepare(self) -> None:
        row = self.in_preparation[0]
        row.prompt -= 1
        if row.prompt == 0:
            self.in_preparation.remove(row)
            self.rows.append(row)

    def _lease(self, name: str) -> Release:
        self.leases.append(name)
        return lambda: self.leases.remove(name)

    async def _wait(self) -> None:
        while not self.closed and (self.admission_held or not (self.waiting or self.pending_tasks)):
            self._work.clear()
            await self._work.wait()

    async def _alone(self, name: str, work: Coroutine[Any, Any, None] | None = None) -> None:
        assert not self._in_flight, f"{name} while {self._in_flight} was in flight"
        self._in_flight = name
        self._clock.now += 3
        try:
            await (work or asyncio.sleep(0))
            if self.failing == name:
                self.failing = ""
                raise ValueError(f"{name} broke")
        finally:
            self._in_flight = ""


class SchedulerMachine(RuleBasedStateMachine):
    """One driver over a group that tests act upon between turns of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.all_rows: list[Row] = []

    @initialize(
        max_active=st.integers(1, 4),
        mixed=st.booleans(),
        shared=st.booleans(),
        tasks=st.booleans(),
        early=st.booleans(),
    )
    def start(self, max_active: int, mixed: bool, shared: bool, tasks: bool, early: bool) -> None:
        async def begin() -> None:
            clock = ManualClock()
            self.group = SimulatedGroup(clock, max_active=max_active, mixed=mixed, shared=shared, tasks=tasks)
            self.driving = asyncio.create_task(drive(self.group, clock, yield_after_preparation=early))

        self.loop.run_until_complete(begin())

    @rule(prompt=st.integers(0, 8), decode=st.integers(1, 12))
    def submit(self, prompt: int, decode: int) -> None:
        if not self.group.closed:
            self.all_rows.append(Row(prompt, decode))
            self.act(lambda: self.group.waiting.append(self.all_rows[-1]))

    @rule(number=st.integers(0, 30))
    def cancel(self, number: int) -> None:
        for row in self.all_rows[number : number + 1]:
            row.cancelled = True

    @rule(held=st.booleans())
    def hold(self, held: bool) -> None:
        self.act(lambda: setattr(self.group, "admission_held", held))

    @rule()
    def add_task(self) -> None:
        self.act(lambda: setattr(self.group, "pending_tasks", self.group.pending_tasks + 1))

    @rule(name=st.sampled_from(["advance", "advance", "advance", "advance_task", "advance_preparation"]))
    def fail(self, name: str) -> None:
        self.group.failing = name

    @rule(turns=st.integers(1, 20))
    def turn(self, turns: int) -> None:
        async def pass_turns() -> None:
            for _ in range(turns):
                await asyncio.sleep(0)

        self.loop.run_until_complete(pass_turns())

    def act(self, action: Callable[[], None]) -> None:
        action()
        self.loop.call_soon(self.group.changed)

    @invariant()
    def leases_come_in_order_and_never_twice(self) -> None:
        if hasattr(self, "group"):
            assert self.group.leases in ([], ["residency"], ["residency", "execution"])

    @invariant()
    def the_driver_ends_only_with_the_group(self) -> None:
        if hasattr(self, "driving") and self.driving.done():
            assert self.group.closed
            assert self.driving.exception() is None

    def teardown(self) -> None:
        try:
            if hasattr(self, "group"):
                self.loop.run_until_complete(self._end())
        finally:
            self.loop.close()

    async def _end(self) -> None:
        self.group.admission_held = False
        self.group.changed()
        for _ in range(2000):
            if all(row.ended for row in self.all_rows):
                break
            await asyncio.sleep(0)
        assert all(row.ended for row in self.all_rows), "a row starved"
        self.group.closed = True
        self.group.changed()
        await self.driving
        assert self.group.leases == []


SchedulerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestScheduler = SchedulerMachine.TestCase

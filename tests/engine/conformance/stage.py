"""What a session scenario plays on: the record, fake time, gates, and an outside cancellation."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from engine.contracts import Timer
from engine.execution.cancellation import CancellationSource
from tests.engine.conformance.notation import ScriptError, spelled

SETTLING_TURNS = 60


async def settle() -> None:
    """Let the loop run until nothing more can happen."""
    for _ in range(SETTLING_TURNS):
        await asyncio.sleep(0)


class Record:
    """Trace entries since the last record, with the operations that are begun and not ended."""

    def __init__(self) -> None:
        self.trace: list[dict[str, Any]] = []
        self.pending: list[str] = []
        self._labels: dict[str, itertools.count[int]] = {}

    def add(self, lane: str, what: str, **fields: Any) -> None:
        self.trace.append({"lane": lane, "what": what, **fields})

    def take(self) -> list[dict[str, Any]]:
        taken, self.trace = self.trace, []
        return taken

    def open(self, kind: str) -> str:
        """The label of an operation that begins, such as `commit#1`."""
        label = f"{kind}#{next(self._labels.setdefault(kind, itertools.count(1)))}"
        self.pending.append(label)
        return label

    def close(self, label: str) -> None:
        self.pending.remove(label)


class FakeTimer:
    """A timer of the fake clock; its first stop while live is recorded."""

    def __init__(self, clock: "FakeClock", number: int, deadline: float, callback: Callable[[], None]) -> None:
        self._clock = clock
        self.number = number
        self.deadline = deadline
        self.callback = callback

    def stop(self) -> None:
        if self in self._clock.live:
            self._clock.live.remove(self)
            self._clock.stopped(self)


class FakeClock:
    """Time that moves when the driver says so."""

    def __init__(self, record: Record, on_stop: Callable[[], None]) -> None:
        self._record = record
        self._on_stop = on_stop
        self._numbers = itertools.count(1)
        self.now = 0.0
        self.live: list[FakeTimer] = []

    def now_ms(self) -> float:
        return self.now

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = FakeTimer(self, next(self._numbers), self.now + delay_ms, callback)
        self.live.append(timer)
        self._record.add("timer", "armed", id=timer.number, ms=spelled(delay_ms))
        return timer

    def stopped(self, timer: FakeTimer) -> None:
        self._record.add("timer", "stopped", id=timer.number)
        self._on_stop()

    async def advance(self, ms: float) -> None:
        """Move on, firing each due timer in deadline order, then by age, with a settle after each."""
        end = self.now + ms
        while due := [timer for timer in self.live if timer.deadline <= end]:
            timer = min(due, key=lambda candidate: (candidate.deadline, candidate.number))
            self.now = max(self.now, timer.deadline)
            self.live.remove(timer)
            self._record.add("timer", "fired", id=timer.number)
            timer.callback()
            await settle()
        self.now = end


class Gates:
    """Named gates that stay open."""

    def __init__(self) -> None:
        self._gates: dict[str, asyncio.Future[None]] = {}

    def gate(self, name: str) -> asyncio.Future[None]:
        return self._gates.setdefault(name, asyncio.get_running_loop().create_future())

    def open(self, name: str) -> None:
        gate = self.gate(name)
        if not gate.done():
            gate.set_result(None)


class OutsideCancellation(CancellationSource):
    """An outside cancellation that records who listens, and may refuse to let go."""

    def __init__(self, record: Record, script: dict[str, Any]) -> None:
        super().__init__()
        self._record = record
        self._unsubscribe_throw = script.get("unsubscribeThrow")
        if "already" in script:
            self.cancel(script["already"])

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        self._record.add("external", "subscribe")
        unsubscribe = super().subscribe(listener)

        def recorded() -> None:
            self._record.add("external", "unsubscribe")
            unsubscribe()
            if self._unsubscribe_throw is not None:
                raise ScriptError(self._unsubscribe_throw)

        return recorded

"""A method and a clock that tests play by hand."""

import asyncio
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

from engine.contracts import Cancellation, Committed, Output, SessionEvent, Timer
from engine.execution.reader import SessionReader
from engine.execution.session import GenerationSession

Execute = Callable[[Output], Awaitable[Any]]
Step = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """A step that does nothing."""


async def settle() -> None:
    """Let the loop run until nothing more can happen."""
    for _ in range(50):
        await asyncio.sleep(0)


class FakeMethod:
    """Plan and run in one. `calls` lists what the session asked of it."""

    def __init__(
        self,
        execute: Execute | None = None,
        *,
        limit: int = 1000,
        prepare: Step = nothing,
        create_run: Step = nothing,
        close: Step = nothing,
        release: Step = nothing,
    ) -> None:
        self.output_token_limit = limit
        self.calls: list[str] = []
        self.cancellation: Cancellation | None = None
        self._execute = execute
        self._prepare = prepare
        self._create_run = create_run
        self._close = close
        self._release = release

    async def prepare(self, cancellation: Cancellation) -> "FakeMethod":
        self.calls.append("prepare")
        self.cancellation = cancellation
        await self._prepare()
        return self

    async def create_run(self) -> "FakeMethod":
        self.calls.append("create_run")
        await self._create_run()
        return self

    async def execute(self, output: Output) -> Any:
        self.calls.append("execute")
        return None if self._execute is None else await self._execute(output)

    async def close(self) -> None:
        self.calls.append("close")
        await self._close()

    async def release(self) -> None:
        self.calls.append("release")
        await self._release()


class ManualTimer:
    """A timer of the manual clock."""

    def __init__(self, clock: "ManualClock", deadline: float, callback: Callable[[], None]) -> None:
        self._clock = clock
        self.deadline = deadline
        self.callback = callback

    def stop(self) -> None:
        if self._clock.stop_error is not None:
            raise self._clock.stop_error
        if self in self._clock.live:
            self._clock.live.remove(self)


class ManualClock:
    """Time that moves when the test says so. `stop_error` is raised when a timer is stopped."""

    def __init__(self) -> None:
        self.now = 0.0
        self.live: list[ManualTimer] = []
        self.stop_error: Exception | None = None

    def now_ms(self) -> float:
        return self.now

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        timer = ManualTimer(self, self.now + delay_ms, callback)
        self.live.append(timer)
        return timer

    def advance(self, ms: float) -> None:
        self.now += ms
        for timer in [timer for timer in self.live if timer.deadline <= self.now]:
            self.live.remove(timer)
            timer.callback()


class Lent:
    """A reservation that counts its releases."""

    def __init__(self, size: int, error: Exception | None = None) -> None:
        self.tokens = array("I", bytes(4 * size))
        self.buffer = memoryview(self.tokens)
        self.releases = 0
        self._error = error

    def release(self) -> None:
        self.releases += 1
        if self._error is not None:
            raise self._error


class Unhandled:
    """What reached the loop's exception handler."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.messages: list[str] = []
        asyncio.get_running_loop().set_exception_handler(self._note)

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.errors.append(context["exception"])
        self.messages.append(context["message"])


async def committing(output: Output, *tokens: int) -> None:
    for token in tokens:
        await output.commit([token])


async def read_all(reader: SessionReader) -> list[SessionEvent]:
    return [event async for event in reader]


async def tokens_of(session: GenerationSession[Any]) -> list[int]:
    """Every token of a session, read to its end."""
    events = [event async for event in session]
    return [token for event in events if isinstance(event, Committed) for token in event.token_ids]

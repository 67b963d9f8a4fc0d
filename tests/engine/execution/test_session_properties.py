"""What holds of a session however producer, reader, cancellations, idle time and failures interleave."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.contracts import Cancelled, Committed, Completed, Failed, Output, SessionState
from engine.execution.cancellation import CancellationSource
from engine.execution.session import GenerationSession, SessionLimits
from tests.engine.execution.fakes import FakeMethod, ManualClock, settle

Command = tuple[str, int]


class SessionMachine(RuleBasedStateMachine):
    """One streaming session whose method does what it is told, one command at a time. Tokens count up from 0."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.external = CancellationSource()
        self.delivered: list[int] = []
        self.sequences: list[int] = []
        self.hooks = 0
        self.next_token = 0
        self.unhandled: list[dict[str, Any]] = []
        self.read: asyncio.Future[bool] | None = None
        self.controls: list[asyncio.Future[Any]] = []
        self.delivered_at_cancel: int | None = None
        self.loop.set_exception_handler(lambda _, context: self.unhandled.append(context))

    @initialize(
        events=st.integers(1, 3), tokens=st.integers(1, 5), close_fails=st.booleans(), prepare_fails=st.booleans()
    )
    def open(self, events: int, tokens: int, close_fails: bool, prepare_fails: bool) -> None:
        self.limits = SessionLimits(max_queued_events=events, max_queued_tokens=tokens, idle_timeout_ms=100)
        self.run(self._open(close_fails, prepare_fails))

    async def _open(self, close_fails: bool, prepare_fails: bool) -> None:
        self.commands: asyncio.Queue[Command] = asyncio.Queue()

        async def close() -> None:
            await asyncio.sleep(0)
            if close_fails:
                raise ValueError("close broke")

        async def prepare() -> None:
            await asyncio.sleep(0)
            if prepare_fails:
                raise ValueError("prepare broke")

        self.method = FakeMethod(self._execute, close=close, prepare=prepare)
        self.session = GenerationSession[Any](
            self.method.prepare,
            clock=self.clock,
            limits=self.limits,
            external=self.external,
            on_terminal=self._ended,
        )
        self.reader = self.session.__aiter__()

    def _ended(self, session: GenerationSession[Any]) -> None:
        assert session.state is SessionState.TERMINAL
        self.hooks += 1

    async def _execute(self, output: Output) -> str:
        while True:
            match await self.commands.get():
                case ("commit", count):
                    tokens = range(self.next_token, self.next_token + count)
                    self.next_token += count
                    await output.commit(tokens)
                case ("progress", count):
                    await output.progress(count)
                case ("raise", _):
                    raise ValueError("method broke")
                case _:
                    return "done"

    async def _read_one(self) -> bool:
        event = await anext(self.reader, None)
        if isinstance(event, Committed):
            self.delivered += event.token_ids
            self.sequences.append(event.sequence)
        return event is not None

    def run(self, step: Coroutine[Any, Any, None]) -> None:
        self.loop.run_until_complete(step)

    @rule(kind=st.sampled_from(["commit", "commit", "commit", "progress"]), count=st.integers(0, 7))
    def publish(self, kind: str, count: int) -> None:
        self.commands.put_nowait((kind, count))
        self.run(settle())

    @rule(kind=st.sampled_from(["return", "raise"]))
    def end_method(self, kind: str) -> None:
        self.commands.put_nowait((kind, 0))
        self.run(settle())

    @precondition(lambda self: self.read is None or self.read.done())
    @rule(turns=st.integers(0, 3))
    def begin_read(self, turns: int) -> None:
        self.read = self.loop.create_task(self._read_one())
        self.run(self._turns(turns))

    @precondition(lambda self: self.read is not None)
    @rule()
    def cancel_read(self) -> None:
        assert self.read is not None
        self.read.cancel()
        self.run(settle())

    @rule(way=st.sampled_from(["cancel", "close", "aclose", "external"]), turns=st.integers(0, 3))
    def cancel(self, way: str, turns: int) -> None:
        self.run(self._turns(turns))
        match way:
            case "cancel":
                self.controls.append(self.loop.create_task(self.session.cancel()))
            case "close":
                self.controls.append(self.loop.create_task(self.session.close()))
            case "aclose":
                self.controls.append(self.loop.create_task(self.reader.aclose()))
            case _:
                self.run(self._fire())
        self.run(settle())

    async def _fire(self) -> None:
        self.external.cancel("external")

    @rule(ms=st.sampled_from([1, 60, 100]))
    def let_time_pass(self, ms: int) -> None:
        self.run(self._advance(ms))
        self.run(settle())

    async def _advance(self, ms: int) -> None:
        self.clock.advance(ms)

    async def _turns(self, turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)

    @invariant()
    def the_queue_stays_within_its_bounds(self) -> None:
        assert len(self.session._queue) <= self.limits.max_queued_events
        assert 0 <= self.session._queue.tokens <= self.limits.max_queued_tokens

    @invariant()
    def tokens_come_in_order_without_a_gap(self) -> None:
        assert self.delivered == list(range(len(self.delivered)))
        assert self.sequences == list(range(len(self.sequences)))

    @invariant()
    def it_ends_once_and_with_an_outcome(self) -> None:
        is_terminal = self.session.state is SessionState.TERMINAL
        assert self.hooks == is_terminal
        assert self.session._settled.done() == is_terminal

    @invariant()
    def idle_time_runs_only_while_nobody_reads(self) -> None:
        is_reading = self.session._queue.has_reader
        is_over = self.session.state is SessionState.TERMINAL or self.session._cancellation.reason is not None
        assert len(self.clock.live) == (0 if is_reading or is_over else 1)

    @invariant()
    def nothing_is_delivered_after_a_cancellation(self) -> None:
        if self.session._cancellation.reason is None or self.session._queue.has_reader:
            return
        if self.delivered_at_cancel is None:
            self.run(settle())
            self.delivered_at_cancel = len(self.delivered)
        assert len(self.delivered) == self.delivered_at_cancel
        assert (len(self.session._queue), self.session._queue.tokens) == (0, 0)

    def teardown(self) -> None:
        try:
            if hasattr(self, "session"):
                self.run(self._end())
        finally:
            self.loop.close()

    async def _end(self) -> None:
        self.commands.put_nowait(("return", 0))
        if self.read is not None:
            self.read.cancel()
            await settle()
        while await self._read_one():
            pass
        await self.session.cancel()
        await settle()
        self._check_outcome(await self.session.outcome())
        assert self.hooks == 1
        assert self.clock.live == []
        assert self.external._listeners == {}
        assert all(control.done() and control.exception() is None for control in self.controls)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert self.unhandled == []

    def _check_outcome(self, outcome: Completed[Any] | Cancelled | Failed) -> None:
        assert outcome.committed_tokens >= len(self.delivered)
        match outcome:
            case Completed():
                assert outcome.result == "done"
                assert outcome.committed_tokens == len(self.delivered) == self.next_token
            case Cancelled():
                assert outcome.reason == self.session._cancellation.reason
            case Failed():
                assert outcome.error.message in ("method broke", "close broke", "prepare broke") or (
                    outcome.error.cleanup_error == "close broke"
                )


SessionMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestSession = SessionMachine.TestCase

"""Plays a session scenario against the core, and records what happened."""

import asyncio
from collections.abc import Awaitable
from contextvars import copy_context
from typing import Any

from engine.execution.modes import Callback, Collect, OutputMode, Stream
from engine.execution.reader import SessionReader
from engine.execution.session import GenerationSession, SessionLimits
from tests.engine.conformance.eager import begin
from tests.engine.conformance.method import ScriptedMethod, raise_scripted
from tests.engine.conformance.notation import ScriptError, error_kind, event_to, number, outcome_to
from tests.engine.conformance.script import Scripts
from tests.engine.conformance.stage import FakeClock, Gates, OutsideCancellation, Record, settle

Json = dict[str, Any]


async def play_session(scenario: Json) -> Json:
    """The record of one scenario, in the form of its `expect`."""
    before = asyncio.all_tasks()
    player = SessionPlayer(scenario)
    asyncio.get_running_loop().set_exception_handler(player.unhandled)
    try:
        return await player.play()
    finally:
        await _end_all(before)


async def _end_all(before: set[asyncio.Task[Any]]) -> None:
    """Cancel what a scenario left waiting, again and again: a close may wait for a gate that never opens."""
    while left := asyncio.all_tasks() - before:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0)


class SessionPlayer:
    """One session with its driver."""

    def __init__(self, scenario: Json) -> None:
        self._scenario = scenario
        self._context = copy_context()
        self._record = Record()
        self._clock = FakeClock(self._record, self._timer_stopped)
        self._gates = Gates()
        scripts = Scripts(self._record, self._gates, state=self._state, call=self._call)
        self._method = ScriptedMethod(scenario, self._record, scripts, self._state)
        external = scenario["control"].get("external")
        self._external = None if external is None else OutsideCancellation(self._record, external)
        self._session: GenerationSession[Any] | None = None
        self._is_constructed = False
        self._iterators: dict[str, SessionReader] = {}
        self._terminal_calls = 0
        self._outcome: Json | None = None

    async def play(self) -> Json:
        records = [await self._construct()]
        for step in self._scenario.get("steps", []):
            await self._take_step(step)
            records.append(self._take_record(step))
        final = {
            "state": self._state(),
            "now": self._clock.now,
            "terminalCalls": self._terminal_calls,
            "pending": list(self._record.pending),
            "outcome": self._outcome,
        }
        return {"steps": records, "final": final}

    def unhandled(self, _loop: asyncio.AbstractEventLoop, context: Json) -> None:
        """The loop's exception handler: an error that reached nobody."""
        self._record.add(
            "unhandled", "rejection", error=error_kind(context.get("exception") or RuntimeError(context["message"]))
        )

    async def _construct(self) -> Json:
        self._session = self._new_session()
        self._is_constructed = True
        self._record.add("driver", "constructed", state=self._state())
        begin(self._watch_outcome(self._session), self._context.copy())
        for action in self._scenario.get("immediate", []):
            self._begin(action)
        await settle()
        return self._take_record("construct")

    def _new_session(self) -> GenerationSession[Any]:
        given = self._scenario.get("resources", {})
        limits = SessionLimits(
            max_queued_events=number(given.get("maxQueuedEvents", 4)),
            max_queued_tokens=number(given.get("maxQueuedTokens", 8)),
            max_top_logprobs=number(given.get("maxTopLogprobs", 2)),
            idle_timeout_ms=number(given.get("idleTimeoutMs", 1000)),
        )
        return GenerationSession(
            self._method.prepare,
            clock=self._clock,
            limits=limits,
            mode=self._mode(),
            external=self._external,
            on_terminal=self._on_terminal,
        )

    def _mode(self) -> OutputMode:
        match self._scenario["control"]["output"]:
            case "collect":
                return Collect(self._method.reserve)
            case "callback":
                return Callback(self._method.on_tokens)
            case _:
                return Stream()

    def _on_terminal(self, session: GenerationSession[Any]) -> None:
        self._session = session
        self._terminal_calls += 1
        self._record.add("lifecycle", "on_terminal", state=self._state())
        script = self._scenario.get("onTerminal", {})
        for action in script.get("calls", []):
            self._begin(action)
        raise_scripted(script.get("throw"))

    def _timer_stopped(self) -> None:
        for action in self._scenario.get("onTimerStop", []):
            self._begin(action)

    def _state(self) -> str:
        return str(self._given_session().state) if self._is_constructed else "constructing"

    def _given_session(self) -> GenerationSession[Any]:
        assert self._session is not None, "the driver acted before there was a session"
        return self._session

    async def _watch_outcome(self, session: GenerationSession[Any]) -> None:
        outcome = await session.outcome()
        lent = self._method.lent
        self._outcome = outcome_to(outcome, None if lent is None else lent.tokens)
        self._record.add("result", "settled", outcome=self._outcome)

    def _take_record(self, done: Any) -> Json:
        return {
            "do": done,
            "trace": self._record.take(),
            "state": self._state(),
            "pending": list(self._record.pending),
            "timers": sorted(timer.deadline for timer in self._clock.live),
        }

    async def _take_step(self, step: Json) -> None:
        if step["do"] == "advance":
            await self._clock.advance(number(step["ms"]))
        else:
            for action in step["steps"] if step["do"] == "batch" else [step]:
                self._begin(action)
        await settle()

    def _begin(self, action: Json) -> None:
        """Begin an action that nobody awaits: it belongs to the driver, also when the method has asked for it."""
        if (operation := self._operation(action)) is not None:
            begin(operation, self._context.copy())

    async def _call(self, action: Json, awaited: bool) -> None:
        if not awaited:
            self._begin(action)
        elif (operation := self._operation(action)) is not None:
            await operation

    def _operation(self, action: Json) -> Any:
        """Perform what is done at once; return the rest of an action that takes time."""
        match action["do"]:
            case "iterator":
                return self._take_iterator(action.get("as", "main"))
            case "next":
                return self._next(self._record.open("next"), self._iterator(action))
            case "return":
                return self._leave(self._record.open("return"), self._iterator(action).aclose())
            case "throw":
                leaving = self._iterator(action).athrow(ScriptError(action["message"]))
                return self._leave(self._record.open("throw"), leaving)
            case "cancel":
                reason = {"reason": action["reason"]} if "reason" in action else {}
                return self._controlled(self._record.open("cancel"), self._given_session().cancel(**reason))
            case "close":
                return self._controlled(self._record.open("close"), self._given_session().close())
            case "external_cancel":
                assert self._external is not None, "no outside cancellation in this scenario"
                return self._external.cancel(action["reason"])
            case "gate":
                return self._gates.open(action["name"])
            case "snapshot":
                return self._record.add("driver", "snapshot", state=self._state())
            case unknown:
                raise AssertionError(f"unknown action {unknown}")

    def _iterator(self, action: Json) -> SessionReader:
        return self._iterators[action.get("as", "main")]

    def _take_iterator(self, name: str) -> None:
        try:
            self._iterators[name] = self._given_session().__aiter__()
        except RuntimeError as error:
            self._record.add("consumer", "iterator_error", **{"as": name, "error": error_kind(error)})
        else:
            self._record.add("consumer", "iterator", **{"as": name})

    async def _next(self, label: str, iterator: SessionReader) -> None:
        answer: Json
        try:
            answer = {"event": event_to(await iterator.__anext__())}
        except StopAsyncIteration:
            answer = {"done": True}
        except Exception as error:  # noqa: BLE001 - what the operation raised is the record
            return self._ended("consumer", "error", label, error=error_kind(error))
        return self._ended("consumer", "ok", label, **answer)

    async def _leave(self, label: str, leaving: Awaitable[None]) -> None:
        try:
            await leaving
        except Exception as error:  # noqa: BLE001 - as above
            return self._ended("consumer", "error", label, error=error_kind(error))
        return self._ended("consumer", "ok", label, done=True)

    async def _controlled(self, label: str, control: Awaitable[None]) -> None:
        try:
            await control
        except Exception as error:  # noqa: BLE001 - as above
            return self._ended("control", "error", label, error=error_kind(error))
        return self._ended("control", "ok", label)

    def _ended(self, lane: str, what: str, label: str, **fields: Any) -> None:
        self._record.close(label)
        self._record.add(lane, what, op=label, **fields)

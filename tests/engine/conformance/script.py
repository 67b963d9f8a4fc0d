"""Runs the ops of a scenario's scripts: what prepare, the run, close and the callback do."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from engine.contracts import Cancellation, Output, SessionCancelledError, TokenLogprobs
from tests.engine.conformance.eager import begin
from tests.engine.conformance.notation import ScriptError, error_kind, logprobs_from, number, thrown_text
from tests.engine.conformance.stage import Gates, Record

Step = dict[str, Any]


class Scripts:
    """The scripts of one scenario. `cancellation` and `output` are what the session handed to its method."""

    def __init__(
        self,
        record: Record,
        gates: Gates,
        *,
        state: Callable[[], str],
        call: Callable[[Step, bool], Awaitable[None]],
    ) -> None:
        self._record = record
        self._gates = gates
        self._state = state
        self._call = call
        self._commits: dict[str, tuple[list[int], list[TokenLogprobs | None] | None]] = {}
        self.cancellation: Cancellation | None = None
        self.output: Output | None = None

    async def run(self, lane: str, steps: list[Step]) -> None:
        for step in steps:
            await self._run_step(lane, step)

    async def _run_step(self, lane: str, step: Step) -> None:
        match step["op"]:
            case "commit":
                await self._publish(step, self._commit(step))
            case "progress":
                await self._publish(step, self._progress(step))
            case "wait":
                await self._wait(lane, step["gate"], step.get("cancellable", False))
            case "throw":
                self._record.add(lane, "throws")
                raise ScriptError(step["message"] if "message" in step else thrown_text(step["throwValue"]))
            case "snapshot":
                self._record.add(lane, "snapshot", state=self._state(), reason=self._given_cancellation().reason)
            case "listen":
                self._listen(lane, step.get("throw"))
            case "mutate":
                self._mutate(lane, step["target"])
            case "call":
                await self._call(step["action"], step.get("await", False))
            case unknown:
                raise AssertionError(f"unknown op {unknown}")

    async def _publish(self, step: Step, publication: Coroutine[Any, Any, None]) -> None:
        if step.get("detach"):
            begin(publication).add_done_callback(_retrieve)
            return
        try:
            await publication
        except Exception:
            if not step.get("catch"):
                raise

    async def _commit(self, step: Step) -> None:
        label = self._record.open("commit")
        given = {"ids": step["ids"]} | ({"logprobs": step["logprobs"]} if "logprobs" in step else {})
        self._record.add("method", "commit", op=label, **given)
        ids, logprobs = [number(token_id) for token_id in step["ids"]], logprobs_from(step.get("logprobs"))
        self._commits[label] = ids, logprobs
        await self._recorded(label, self._given_output().commit(ids, logprobs))

    async def _progress(self, step: Step) -> None:
        label = self._record.open("progress")
        given = {key: step[key] for key in ("completed", "total") if key in step}
        self._record.add("method", "progress", op=label, **given)
        completed, total = number(step["completed"]), number(step.get("total"))
        await self._recorded(label, self._given_output().progress(completed, total))

    async def _recorded(self, label: str, publication: Awaitable[object]) -> None:
        try:
            answer = await publication
        except Exception as error:
            self._record.add("method", "error", op=label, error=error_kind(error))
            raise
        finally:
            self._record.close(label)
        self._record.add("method", "ok", op=label, **({} if answer is None else {"returned": answer}))

    async def _wait(self, lane: str, name: str, cancellable: bool) -> None:
        label = self._record.open("wait")
        self._record.add(lane, "wait", gate=name)
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        gate = self._gates.gate(name)

        def opened(_gate: asyncio.Future[None]) -> None:
            if not passed.done():
                passed.set_result(None)

        def cancelled(reason: str) -> None:
            if not passed.done():
                self._record.add(lane, "cancel_seen", reason=reason)
                passed.set_exception(SessionCancelledError(reason))

        gate.add_done_callback(opened)
        unsubscribe = self._given_cancellation().subscribe(cancelled) if cancellable else _nothing
        try:
            await passed
        finally:
            unsubscribe()
            self._record.close(label)
        self._record.add(lane, "woke", gate=name)

    def _listen(self, lane: str, throw: str | None) -> None:
        def listener(reason: str) -> None:
            self._record.add(lane, "cancel_seen", reason=reason)
            if throw is not None:
                raise ScriptError(throw)

        self._given_cancellation().subscribe(listener)

    def _mutate(self, lane: str, target: str) -> None:
        ids, logprobs = self._commits[target]
        ids[:] = [4_000_000 + position for position in range(len(ids) + 1)]
        if logprobs is not None:
            logprobs[:] = [TokenLogprobs(-99.0, ())] * len(ids)
        self._record.add(lane, "mutated", target=target)

    def _given_output(self) -> Output:
        assert self.output is not None, "a script published before there was a run"
        return self.output

    def _given_cancellation(self) -> Cancellation:
        assert self.cancellation is not None, "a script ran before prepare"
        return self.cancellation


def _retrieve(publication: asyncio.Future[None]) -> None:
    """The error of a detached publication reaches nobody; it is in the record."""
    if not publication.cancelled():
        publication.exception()


def _nothing() -> None:
    """A wait that does not listen has nothing to take back."""

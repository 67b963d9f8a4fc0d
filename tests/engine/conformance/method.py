"""The scripted method of a session scenario: everything that the session calls."""

import copy
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

from engine.contracts import Cancellation, Output
from engine.execution.batches import TokenBatch
from tests.engine.conformance.eager import begin
from tests.engine.conformance.notation import ScriptError, logprobs_to, number
from tests.engine.conformance.script import Scripts
from tests.engine.conformance.stage import Record

Json = dict[str, Any]


def raise_scripted(message: str | None) -> None:
    if message is not None:
        raise ScriptError(message)


class LentBuffer:
    """The reservation that a collect session gets."""

    def __init__(self, size: int, release: Callable[[], None]) -> None:
        self.tokens = array("I", bytes(4 * size))
        self.buffer = memoryview(self.tokens)
        self._release = release

    def release(self) -> None:
        self._release()


class ScriptedMethod:
    """Plan and run in one, with the callback and the lender of buffers: it does what the scenario says."""

    def __init__(self, scenario: Json, record: Record, scripts: Scripts, state: Callable[[], str]) -> None:
        self._scenario = scenario
        self._record = record
        self._scripts = scripts
        self._state = state
        self._callback_calls = 0
        self._reservation: Json = scenario.get("resources", {}).get("reserve", {})
        self.output_token_limit: int = number(self._part("prepare").get("outputTokenLimit", 100))
        self.lent: LentBuffer | None = None

    def prepare(self, cancellation: Cancellation) -> Awaitable["ScriptedMethod"]:
        """Runs its first part inside the call, as the scenarios have it."""
        self._scripts.cancellation = cancellation
        self._lifecycle("prepare")
        script = self._part("prepare")
        raise_scripted(script.get("syncThrow"))
        return begin(self._prepared(script))

    async def _prepared(self, script: Json) -> "ScriptedMethod":
        await self._scripts.run("prepare", script.get("steps", []))
        return self

    async def create_run(self) -> "ScriptedMethod":
        await self._enact("create_run", "createRun", lane="create_run")
        return self

    async def release(self) -> None:
        """The notation has no word for a plan that is released."""

    async def execute(self, output: Output) -> Any:
        self._scripts.output = output
        await self._enact("execute", "run", lane="method")
        self._record.add("method", "returns")
        return copy.deepcopy(self._part("run").get("result", {"finish": "stop"}))

    async def close(self) -> None:
        await self._enact("close", "close", lane="close")

    def reserve(self, tokens: int) -> LentBuffer:
        self._lifecycle("reserve", tokens=tokens)
        raise_scripted(self._reservation.get("throw"))
        self.lent = LentBuffer(number(self._reservation.get("size", tokens)), self._released)
        return self.lent

    def on_tokens(self, batch: TokenBatch) -> Awaitable[object] | object:
        logprobs = {} if batch.logprobs is None else {"logprobs": logprobs_to(batch.logprobs)}
        self._record.add("callback", "tokens", ids=list(batch.token_ids), **logprobs)
        scripts: list[Json] = self._scenario["control"].get("callback", [])
        script = scripts[self._callback_calls] if self._callback_calls < len(scripts) else {}
        self._callback_calls += 1
        if "steps" in script:
            return self._answer_later(script)
        raise_scripted(script.get("throw"))
        return script.get("return")

    async def _answer_later(self, script: Json) -> object:
        await self._scripts.run("callback", script["steps"])
        raise_scripted(script.get("throw"))
        return script.get("return")

    async def _enact(self, what: str, part: str, *, lane: str) -> None:
        self._lifecycle(what)
        script = self._part(part)
        raise_scripted(script.get("syncThrow"))
        await self._scripts.run(lane, script.get("steps", []))

    def _released(self) -> None:
        self._lifecycle("release")
        raise_scripted(self._reservation.get("releaseThrow"))

    def _lifecycle(self, what: str, **fields: Any) -> None:
        self._record.add("lifecycle", what, state=self._state(), **fields)

    def _part(self, name: str) -> Json:
        part: Json = self._scenario.get(name, {})
        return part

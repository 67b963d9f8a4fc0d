"""Plays a row sampling scenario against the core, and records the calls made."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

from engine.contracts import TokenLogprobs
from engine.execution.row_sampling import RowSampling, Sample
from tests.engine.conformance.method import raise_scripted
from tests.engine.conformance.notation import error_kind, logprob_to, logprobs_from

Json = dict[str, Any]


async def play_rows(scenario: Json) -> Json:
    """The record of one scenario, in the form of its `expect`."""
    player = RowPlayer(scenario)
    return {"steps": [player.creation(), *[await player.perform(op) for op in scenario["ops"]]]}


class RowPlayer:
    """Sampler, arrays and sink of one request, all scripted."""

    def __init__(self, scenario: Json) -> None:
        self._trace: list[list[Any]] = []
        self._arrays = ScriptedArrays(scenario, self._trace)
        self._sink_script = iter(scenario.get("sink", []))
        self._sampler = ScriptedSampler(scenario["sampler"], self._trace)
        # Held, because a bound method is a new object each time it is looked up.
        self._own_sink = self._sink
        self._rows: RowSampling[str, str, Json] = RowSampling(self._sampler, self._arrays, self._own_sink)

    def creation(self) -> Json:
        return {
            "do": "create",
            "trace": self._take_trace(),
            "plainGreedy": self._rows.is_plain_greedy,
            "sinkPassedThrough": self._rows.sink is self._own_sink,
        }

    async def perform(self, op: Json) -> Json:
        try:
            answer = await self._operate(op)
        except Exception as error:  # noqa: BLE001 - what the operation raised is the record
            return {"do": op, "trace": self._take_trace(), "error": _error_with_cleanup(error)}
        return {"do": op, "trace": self._take_trace(), "ok": answer}

    async def _operate(self, op: Json) -> Json:
        match op["do"]:
            case "sample":
                step = op["step"]
                return {"token": self._rows.sample(op.get("logits", f"L{step}"), step)}
            case "token":
                return await self._emit(op)
            case "dispose":
                self._rows.dispose()
                return {}
            case "set":
                self._sampler.script |= op["fields"]
                return {"plainGreedy": self._rows.is_plain_greedy}
            case unknown:
                raise AssertionError(f"unknown op {unknown}")

    async def _emit(self, op: Json) -> Json:
        entries = logprobs_from([op.get("logprobs")])
        answer = self._rows.sink(op["token"], entries[0] if entries else None)
        return {"promise": await answer} if inspect.isawaitable(answer) else {"value": answer}

    def _sink(self, token: int, logprobs: TokenLogprobs | None = None) -> object:
        self._trace.append(["sink", token, None if logprobs is None else logprob_to(logprobs)])
        script: Json = next(self._sink_script, {})
        if script.get("async"):
            return _answer_later(script)
        raise_scripted(script.get("throw"))
        return script.get("return")

    def _take_trace(self) -> list[list[Any]]:
        taken = list(self._trace)
        self._trace.clear()
        return taken


class ScriptedSampler:
    """Samples what the scenario says; its flags can be changed."""

    def __init__(self, script: Json, trace: list[list[Any]]) -> None:
        self.script = dict(script)
        self._trace = trace
        self._samples = iter(script.get("samples", []))

    @property
    def captures_logprobs(self) -> bool:
        return bool(self.script.get("capturesLogprobs", False))

    @property
    def is_plain_greedy(self) -> bool:
        return bool(self.script.get("isPlainGreedy", False))

    def sample(self, logits: str, step: int) -> Sample[str, Json]:
        self._trace.append(["sampler_sample", logits, step])
        script: Json = next(self._samples, {})
        raise_scripted(script.get("throw"))
        return Sample(script.get("token", f"t{step}"), script.get("extras"))

    def dispose(self) -> None:
        self._trace.append(["sampler_dispose"])
        raise_scripted(self.script.get("disposeThrow"))


class ScriptedArrays:
    """Arrays are their names, extras their scripts."""

    def __init__(self, scenario: Json, trace: list[list[Any]]) -> None:
        self._trace = trace
        self._evaluations = iter(scenario.get("evalThrow", []))
        self._dispose_throw: Json = scenario.get("disposeThrow", {})

    def start(self, arrays: Sequence[str]) -> None:
        self._trace.append(["eval", list(arrays)])
        raise_scripted(next(self._evaluations, None))

    def free(self, array: str) -> None:
        self._trace.append(["dispose", array])
        raise_scripted(self._dispose_throw.get(array))

    def arrays_of(self, extras: Json | None) -> Sequence[str]:
        self._trace.append(["extras_arrays", _name(extras)])
        if extras is None:
            return []
        raise_scripted(extras.get("arraysThrow"))
        arrays: list[str] = extras.get("arrays", [])
        return arrays

    def read(self, extras: Json | None) -> TokenLogprobs | None:
        self._trace.append(["read_extras", _name(extras)])
        if extras is None:
            return None
        raise_scripted(extras.get("readThrow"))
        entries = logprobs_from([extras.get("logprobs")])
        return entries[0] if entries else None

    def free_extras(self, extras: Json | None) -> None:
        self._trace.append(["dispose_extras", _name(extras)])
        if extras is not None:
            raise_scripted(extras.get("disposeThrow"))


async def _answer_later(script: Json) -> object:
    await asyncio.sleep(0)
    raise_scripted(script.get("throw"))
    return script.get("return")


def _name(extras: Json | None) -> str | None:
    return None if extras is None else extras["name"]


def _error_with_cleanup(error: BaseException) -> Json:
    """What failed; what failed while cleaning up after it is its context."""
    kind = error_kind(error)
    return kind if error.__context__ is None else kind | {"cleanup": error_kind(error.__context__)}

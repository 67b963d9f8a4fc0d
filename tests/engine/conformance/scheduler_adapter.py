"""Plays a scheduler scenario against the core, and records the calls made."""

import asyncio
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar, cast

from engine.contracts import MixedDemand, Release, Timer
from engine.execution.scheduler import drive
from tests.engine.conformance.notation import GuardError, ScriptError, error_kind, number, spelled

Json = dict[str, Any]
T = TypeVar("T")

_DEFAULTS: Json = {
    "closed": False,
    "admissionHeld": False,
    "active": 0,
    "queued": 0,
    "preparing": False,
    "maxActive": 4,
    "pendingTasks": 0,
    "canPrepareMore": False,
}
_UNGUARDED = {"failAll", "releaseResidency", "releaseExecution"}


async def play_scheduler(scenario: Json) -> Json:
    """The record of one scenario, in the form of its `expect`."""
    group = ScriptedGroup(scenario)
    options: dict[str, bool] = {}
    if "yieldAfterPreparation" in scenario:
        options["yield_after_preparation"] = bool(scenario["yieldAfterPreparation"])
    end: Any = "returned"
    try:
        await drive(group, group, give_way=group.give_way, **options)
    except Exception as error:  # noqa: BLE001 - what the driver raised is the record
        end = {"threw": error_kind(error)}
    return {"trace": group.trace, "end": end, "now": group.now, "guard": group.is_guarded}


class _Field(Generic[T]):
    """A field of the scripted group under the name that the scenarios give it; absent is None."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, group: "ScriptedGroup", _owner: object = None) -> T:
        return cast(T, group.fields.get(self._name))


class ScriptedGroup:
    """Group, clock and loop in one: every call has the effect that the scenario wrote down for it."""

    closed = _Field[bool]("closed")
    admission_held = _Field[bool]("admissionHeld")
    queued = _Field[int]("queued")
    active = _Field[int]("active")
    max_active = _Field[int]("maxActive")
    preparing = _Field[bool]("preparing")
    preparing_rows = _Field[int | None]("preparingRows")
    preparing_tokens = _Field[int | None]("preparingTokens")
    next_preparation_tokens = _Field[int | None]("nextPreparationTokens")
    max_preparation_tokens = _Field[int | None]("maxPreparationTokens")
    max_iteration_tokens = _Field[int | None]("maxIterationTokens")
    can_prepare_more = _Field[bool]("canPrepareMore")
    preparation_published_output = _Field[bool]("preparationPublishedOutput")
    pending_tasks = _Field[int]("pendingTasks")

    def __init__(self, scenario: Json) -> None:
        self.fields: Json = _DEFAULTS | {name: _value(given) for name, given in scenario.get("group", {}).items()}
        self.now: float = number(scenario.get("clockStart", 0))
        self.trace: list[list[Any]] = []
        self.is_guarded = False
        self._effects = {name: iter(effects) for name, effects in scenario.get("effects", {}).items()}
        self._default_effects: Json = scenario.get("defaults", {})
        self._calls_left: int = scenario.get("maxCalls", 200)
        self._ordinals = {name: itertools.count(1) for name in ("releaseResidency", "releaseExecution")}
        self._in_flight = False

    @property
    def mixed_preparation(self) -> MixedDemand | None:
        demand = self.fields.get("mixedPreparation")
        if demand is None:
            return None
        return MixedDemand(number(demand["runningTokens"]), number(demand["minimumPreparationTokens"]))

    @property
    def supports_tasks(self) -> bool:
        return self._offers("advanceTask")

    @property
    def supports_mixed(self) -> bool:
        return self._offers("advanceMixed")

    @property
    def shares_execution(self) -> bool:
        return self._offers("acquireExecution")

    def now_ms(self) -> float:
        return self.now

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        raise AssertionError("the scheduler needs no timer")

    def prune_cancelled(self) -> None:
        self._call("pruneCancelled")

    def reserve_residency(self) -> Release:
        self._call("reserveResidency")
        return self._release("releaseResidency")

    def admit_next(self) -> bool:
        return bool(self._call("admitNext"))

    def can_burst(self) -> bool:
        return bool(self._call("canBurst"))

    def fail_active(self, error: BaseException) -> None:
        self._call("failActive", error_kind(error))

    def fail_all(self, error: BaseException) -> None:
        self._call("failAll", error_kind(error))

    async def wait_for_work(self) -> None:
        await self._call_later("waitForWork")

    async def acquire_execution(self) -> Release:
        await self._call_later("acquireExecution")
        return self._release("releaseExecution")

    async def advance_task(self) -> None:
        await self._call_later("advanceTask")

    async def advance_mixed(self, token_budget: float) -> None:
        await self._call_later("advanceMixed", spelled(token_budget))

    async def advance_preparation(self) -> None:
        await self._call_later("advancePreparation")

    async def advance(self) -> None:
        await self._call_later("advance")

    async def give_way(self) -> None:
        await self._call_later("yield", self.now)

    def _offers(self, name: str) -> bool:
        return name in self.fields.get("optional", ())

    def _release(self, name: str) -> Release:
        return partial(self._call, name, next(self._ordinals[name]))

    def _call(self, name: str, *args: Any) -> Any:
        return self._take_effect(name, self._log(name, args))

    async def _call_later(self, name: str, *args: Any) -> Any:
        if self._in_flight:
            self.trace.append(["<overlap>", name])
        entry = self._log(name, args)
        self._in_flight = True
        try:
            await asyncio.sleep(0)
            return self._take_effect(name, entry)
        finally:
            self._in_flight = False

    def _log(self, name: str, args: tuple[Any, ...]) -> list[Any]:
        self._calls_left -= 1
        if self._calls_left < 0 and name not in _UNGUARDED:
            if not self.is_guarded:
                self.trace.append(["<guard>"])
            self.is_guarded = True
            raise GuardError
        entry = [name, *args]
        self.trace.append(entry)
        return entry

    def _take_effect(self, name: str, entry: list[Any]) -> Any:
        effect = next(self._effects.get(name, iter(())), self._default_effects.get(name, {}))
        for field, value in effect.get("set", {}).items():
            self.fields[field] = _value(value)
        for field, value in effect.get("add", {}).items():
            self.fields[field] = (self.fields.get(field) or 0) + number(value)
        self.now += number(effect.get("clock", 0))
        if "throw" in effect:
            entry.append({"throws": effect["throw"]})
            raise ScriptError(effect["throw"])
        if "return" in effect:
            entry.append({"returned": effect["return"]})
        return effect.get("return")


def _value(given: Any) -> Any:
    """A field as the core reads it: numbers that JSON had to spell, everything else as it is."""
    return number(given) if isinstance(given, str | float) else given

"""Compares a record with a golden `expect`.

exact : canonical equality.
lanes : what an event-loop-neutral port must satisfy. Session: per step, each lane's entries in order
        (lanes `timer`, `unhandled` left out), plus state, pending (as a set) and timers (live deadlines, sorted);
        plus `final`. Scheduler and row sampling: always exact.
"""

import json
from collections.abc import Collection
from typing import Any

Json = Any
_STATE_OF_START = ("constructed", "prepare")


def _plain(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 50.0 and 50 are the same number in a golden
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def canon(value: Json) -> str:
    return json.dumps(_plain(value), sort_keys=True)


def lanes(trace: list[Json], skip: Collection[str] = ("timer", "unhandled")) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for entry in trace:
        if entry["lane"] not in skip:
            found.setdefault(entry["lane"], []).append(entry)
    # Several cancel() calls that end in one step may end in any order.
    if "control" in found:
        found["control"].sort(key=canon)
    return found


def _without_start(trace: list[Json]) -> list[Json]:
    return [{k: v for k, v in e.items() if k != "state"} if e["what"] in _STATE_OF_START else e for e in trace]


def compare(kind: str, expect: Json, got: Json, mode: str = "lanes", lazy_start: bool = False) -> list[str]:
    """A list of difference texts (empty: conforming).

    lazy_start: for a port that calls prepare from a task instead of inside the constructor / first next();
    the states recorded in the `constructed` and `prepare` entries are then not compared.
    """
    if mode == "exact" or kind != "session":
        return _differences("exact", expect, got)
    if len(expect["steps"]) != len(got["steps"]):
        return ["number of steps"]
    found: list[str] = []
    for number, (wanted, given) in enumerate(zip(expect["steps"], got["steps"], strict=True)):
        found += _compare_step(f"step {number} {canon(wanted['do'])}", wanted, given, lazy_start)
    return found + _differences("final", _sorted(expect["final"], "pending"), _sorted(got["final"], "pending"))


def _compare_step(name: str, wanted: Json, given: Json, lazy_start: bool) -> list[str]:
    traces = [_without_start(step["trace"]) if lazy_start else step["trace"] for step in (wanted, given)]
    ours, theirs = lanes(traces[0]), lanes(traces[1])
    found: list[str] = []
    for lane in sorted(set(ours) | set(theirs)):
        found += _differences(f"{name} lane {lane}", ours.get(lane), theirs.get(lane))
    found += _differences(f"{name} state", wanted["state"], given["state"])
    for field in ("pending", "timers"):
        found += _differences(f"{name} {field}", sorted(wanted[field]), sorted(given[field]))
    return found


def _sorted(final: Json, field: str) -> Json:
    return final | {field: sorted(final[field])}


def _differences(name: str, wanted: Json, given: Json) -> list[str]:
    return [] if canon(wanted) == canon(given) else [f"{name}:\n   want {canon(wanted)}\n   got  {canon(given)}"]

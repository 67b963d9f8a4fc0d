# ruff: noqa: ANN, B905, UP031 - handed over with the scenarios and kept as it is
# mypy: ignore-errors
# fmt: off
"""Compare a Python adapter's record with a golden `expect`.

exact : canonical equality.
lanes : what an event-loop-neutral port must satisfy. Session: per step, each lane's entries in order
        (lanes `timer`, `unhandled` left out), plus state, pending (as a set) and timers (live deadlines, sorted);
        plus `final`. Scheduler and row sampling: always exact.
"""
import json


def _n(v):
    if isinstance(v, float) and v.is_integer():
        return int(v)          # 50.0 and 50 are the same number in a golden
    if isinstance(v, dict):
        return {k: _n(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [_n(x) for x in v]
    return v


def canon(v):
    return json.dumps(_n(v), sort_keys=True)


def lanes(trace, skip=("timer", "unhandled")):
    out = {}
    for e in trace:
        if e["lane"] not in skip:
            out.setdefault(e["lane"], []).append(e)
    return out


def _lazy(trace):
    return [{k: v for k, v in e.items() if k != "state"} if e["what"] in ("constructed", "prepare") else e for e in trace]


def compare(kind, expect, got, mode="lanes", lazy_start=False):
    """Return a list of difference texts (empty: conforming).

    lazy_start: for a port that calls prepare from a task instead of inside the constructor / first next();
    the states recorded in the `constructed` and `prepare` entries are then not compared."""
    if mode == "exact" or kind != "session":
        return [] if canon(expect) == canon(got) else ["exact: want %s\n       got  %s" % (canon(expect), canon(got))]
    diffs = []
    if len(expect["steps"]) != len(got["steps"]):
        return ["number of steps"]
    for i, (a, b) in enumerate(zip(expect["steps"], got["steps"])):
        ta, tb = (_lazy(a["trace"]), _lazy(b["trace"])) if lazy_start else (a["trace"], b["trace"])
        la, lb = lanes(ta), lanes(tb)
        for lane in sorted(set(la) | set(lb)):
            if lane == "control":  # several cancel() calls ending in one step may end in any order
                la[lane], lb[lane] = (sorted(x.get(lane, []), key=canon) for x in (la, lb))
            if canon(la.get(lane)) != canon(lb.get(lane)):
                diffs.append("step %d %s lane %s:\n   want %s\n   got  %s" % (i, canon(a["do"]), lane, canon(la.get(lane)), canon(lb.get(lane))))
        if a["state"] != b["state"]:
            diffs.append("step %d state want %s got %s" % (i, a["state"], b["state"]))
        if sorted(a["pending"]) != sorted(b["pending"]):
            diffs.append("step %d pending want %s got %s" % (i, a["pending"], b["pending"]))
        if sorted(a["timers"]) != sorted(b["timers"]):
            diffs.append("step %d timers want %s got %s" % (i, a["timers"], b["timers"]))
    fa, fb = dict(expect["final"]), dict(got["final"])
    fa["pending"], fb["pending"] = sorted(fa["pending"]), sorted(fb["pending"])
    if canon(fa) != canon(fb):
        diffs.append("final want %s\n      got  %s" % (canon(fa), canon(fb)))
    return diffs

"""Between the scenarios' JSON and the core's own types."""

import json
import math
from typing import Any

from engine.contracts import (
    Cancelled,
    Committed,
    Completed,
    Failed,
    SessionCancelledError,
    SessionEvent,
    TokenLogprobs,
    TopLogprob,
)
from engine.contracts.outcomes import AnyOutcome
from engine.execution.refusals import Refusal, RefusedError

_SPELLED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


class ScriptError(Exception):
    """Raised by a scenario's own script."""


class GuardError(Exception):
    """A scenario made more calls than it may."""


def number(value: Any) -> Any:
    """A number as the core gets it: spelled ones read, whole ones as int."""
    if isinstance(value, str):
        value = _SPELLED[value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def spelled(value: Any) -> Any:
    """A number as JSON can carry it."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def thrown_text(value: Any) -> str:
    """How JavaScript spells a plain value that is thrown."""
    match value:
        case str():
            return value
        case dict():
            return "[object Object]"
        case list():
            return ",".join("" if item is None else thrown_text(item) for item in value)
        case _:
            return json.dumps(number(value))


def error_kind(error: BaseException) -> dict[str, Any]:
    """The neutral kind of an error."""
    match error:
        case SessionCancelledError(reason=reason):
            return {"kind": "cancelled", "reason": reason}
        case RefusedError(refusal=refusal):
            return {"kind": str(refusal)}
        case BaseExceptionGroup(exceptions=errors):
            return {"kind": "aggregate", "of": [error_kind(inner) for inner in errors]}
        case GuardError():
            return {"kind": "guard"}
        case _:
            return {"kind": "script", "message": str(error)}


_REFUSAL_OF_TEXT = {str(RefusedError(refusal)): refusal for refusal in Refusal}


def text_kind(text: str) -> dict[str, Any]:
    """The neutral kind of an error of which only the text is left."""
    if text in _REFUSAL_OF_TEXT:
        return {"kind": str(_REFUSAL_OF_TEXT[text])}
    if text.startswith("cancelled: "):
        return {"kind": "cancelled", "reason": text.removeprefix("cancelled: ")}
    # An error without words goes by its type's name.
    return {"kind": "script", "message": "" if text == ScriptError.__name__ else text}


def logprobs_from(entries: list[Any] | None) -> list[TokenLogprobs | None] | None:
    if entries is None:
        return None
    return [None if entry is None else _entry_from(entry) for entry in entries]


def _entry_from(entry: dict[str, Any]) -> TokenLogprobs:
    top = entry.get("top")
    candidates = None if top is None else tuple(TopLogprob(number(c.get("id")), number(c.get("logprob"))) for c in top)
    return TokenLogprobs(number(entry.get("logprob")), candidates)


def logprobs_to(entries: tuple[TokenLogprobs | None, ...]) -> list[Any]:
    return [None if entry is None else logprob_to(entry) for entry in entries]


def logprob_to(entry: TokenLogprobs) -> dict[str, Any]:
    given: dict[str, Any] = {} if entry.logprob is None else {"logprob": spelled(entry.logprob)}
    if entry.top is not None:
        given["top"] = [_candidate_to(candidate) for candidate in entry.top]
    return given


def _candidate_to(candidate: TopLogprob) -> dict[str, Any]:
    given: dict[str, Any] = {"id": spelled(candidate.id)}
    return given if candidate.logprob is None else given | {"logprob": spelled(candidate.logprob)}


def event_to(event: SessionEvent) -> dict[str, Any]:
    if isinstance(event, Committed):
        given = {"type": "committed", "sequence": event.sequence, "tokenIds": list(event.token_ids)}
        return given if event.logprobs is None else given | {"logprobs": logprobs_to(event.logprobs)}
    progress = {"type": "progress", "completed": event.completed}
    return progress if event.total is None else progress | {"total": event.total}


def outcome_to(outcome: AnyOutcome, buffer: object) -> dict[str, Any]:
    """The outcome; `buffer` is the object that collect sessions were lent."""
    given: dict[str, Any] = {"committedTokens": outcome.committed_tokens}
    if outcome.output is not None:
        given |= {"output": outcome.output.tolist(), "sharesBuffer": outcome.output.obj is buffer}
    match outcome:
        case Completed():
            return given | {"status": "completed", "result": outcome.result}
        case Cancelled():
            return given | {"status": "cancelled", "reason": outcome.reason}
        case Failed(error=failure):
            error = {"code": failure.code, "message": text_kind(failure.message)}
            if failure.cleanup_error is not None:
                error["cleanupError"] = text_kind(failure.cleanup_error)
            return given | {"status": "failed", "error": error}

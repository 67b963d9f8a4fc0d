"""What a tab is doing, with the words for the status line."""

import msgspec

from engine.contracts import GenerationResult, Progress


class Idle(msgspec.Struct, frozen=True):
    """Nothing runs. `note` tells how the last answer went."""

    note: str = ""


class Waiting(msgspec.Struct, frozen=True):
    """The engine was asked and has not said anything yet."""


class Loading(msgspec.Struct, frozen=True):
    """The model is being read from the disk; `fraction` None is unknown."""

    model: str
    fraction: float | None = None


class Reading(msgspec.Struct, frozen=True):
    """The prompt is being read."""

    fraction: float | None = None


class Working(msgspec.Struct, frozen=True):
    """Any other work before the first token, named by the engine."""

    what: str
    fraction: float | None = None


class Answering(msgspec.Struct, frozen=True):
    """Tokens come. The rate is None until it can be told."""

    tokens_per_second: float | None
    first_token_seconds: float


class Stopping(msgspec.Struct, frozen=True):
    """The engine was told to stop and has not confirmed it yet."""


Phase = Idle | Waiting | Loading | Reading | Working | Answering | Stopping


def phase_of(progress: Progress, model: str) -> Phase:
    """What `progress` of a session with `model` says about the tab."""
    fraction = fraction_of(progress)
    match progress.phase:
        case "load":
            return Loading(model, fraction)
        case "prefill":
            return Reading(fraction)
        case str(what):
            return Working(what, fraction)
        case None:
            return Waiting()


def fraction_of(progress: Progress) -> float | None:
    return None if not progress.total else progress.completed / progress.total


def status_text(phase: Phase) -> str:
    """The status line of a tab in `phase`."""
    match phase:
        case Idle(note):
            return note
        case Waiting():
            return "Waiting for the engine…"
        case Loading(model, fraction):
            return f"Loading {model}…{percent(fraction)}"
        case Reading(fraction):
            return f"Reading the prompt{percent(fraction)}"
        case Working(what, fraction):
            return f"{what.capitalize()}…{percent(fraction)}"
        case Answering(rate, first):
            return _joined("Answering", _rate(rate), f"first token {first:.2f} s")
        case Stopping():
            return "Stopping…"


def percent(fraction: float | None) -> str:
    """A blank and the percentage, or nothing."""
    return "" if fraction is None else f" {fraction:.0%}".replace("%", " %")


def summary_of(ending: str, result: GenerationResult) -> str:
    """How a finished answer went, by the engine's own figures."""
    rate = rate_of(result.generated_tokens, result.decode_seconds)
    first = f"first token {result.first_token_seconds:.2f} s"
    return _joined(ending, count_of(result.generated_tokens), _rate(rate), first)


def summary_of_cut(ending: str, tokens: int, tokens_per_second: float | None) -> str:
    """How an answer went that the engine gives no figures for, by what arrived."""
    return _joined(ending, count_of(tokens), _rate(tokens_per_second))


def rate_of(tokens: int, seconds: float) -> float | None:
    """Tokens per second; `seconds` run from the first token to the last, so the first one is not counted."""
    return (tokens - 1) / seconds if tokens > 1 and seconds > 0 else None


def count_of(tokens: int) -> str:
    return "1 token" if tokens == 1 else f"{tokens} tokens"


def _rate(tokens_per_second: float | None) -> str:
    return "" if tokens_per_second is None else f"{tokens_per_second:.1f} tokens/s"


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)

"""Checks settings before anything is computed with them."""

import math
from collections.abc import Iterator

from engine.contracts import CaptureSettings, Problem, ProblemError, SamplingSettings

MAX_TOP_K_CAPTURE = 100


def check_sampling(settings: SamplingSettings, vocabulary: int) -> None:
    """Raise `ProblemError` (`sampling_invalid`) naming the first setting that has no meaning."""
    for name, value, valid, rule in _sampling_rules(settings):
        if not valid:
            raise _invalid("sampling_invalid", name, value, rule)
    for token_id, bias in settings.logit_bias.items():
        if not 0 <= token_id < vocabulary or math.isnan(bias) or bias == math.inf:
            raise _invalid(
                "sampling_invalid",
                "logit_bias",
                f"{token_id}: {bias}",
                f"ids below {vocabulary}, biases below infinity",
            )


def check_captures(captures: CaptureSettings) -> None:
    """Raise `ProblemError` (`captures_invalid`) when more candidates are wanted than are ever captured."""
    if not 0 <= captures.top_k <= MAX_TOP_K_CAPTURE:
        raise _invalid("captures_invalid", "top_k", captures.top_k, f"0 to {MAX_TOP_K_CAPTURE}")


def _sampling_rules(settings: SamplingSettings) -> Iterator[tuple[str, float, bool, str]]:
    finite = math.isfinite
    yield "temperature", (it := settings.temperature), finite(it) and it >= 0, "a number from 0"
    yield "top_p", (it := settings.top_p), 0 < it <= 1, "above 0, at most 1"
    yield "min_p", (it := settings.min_p), 0 <= it <= 1, "0 to 1"
    yield "top_k", (it := settings.top_k), it >= 0, "0 or more"
    yield "repetition_penalty", (it := settings.repetition_penalty), finite(it) and it > 0, "a number above 0"
    yield "presence_penalty", (it := settings.presence_penalty), finite(it), "a number"
    yield "frequency_penalty", (it := settings.frequency_penalty), finite(it), "a number"
    yield "penalty_window", (it := settings.penalty_window), it >= 1, "1 or more"


def _invalid(code: str, name: str, value: object, rule: str) -> ProblemError:
    return ProblemError(
        Problem(code=code, sentence=f"{name} is {value}, which has no meaning.", remedy=f"It may be {rule}.")
    )

"""Probabilities in words and digits that stay true at the extremes."""

import math

NOT_MEASURED = "not measured"
UNAVAILABLE = "unavailable"
EXCLUDED = "excluded"


def percent_text(logprob: float | None) -> str:
    """The probability of `logprob` (nats) in percent.

    None is "not measured", NaN "unavailable", minus infinity "excluded". Three significant digits otherwise, and never
    "0 %" or "100 %" for a value that is neither.
    """
    if logprob is None:
        return NOT_MEASURED
    if math.isnan(logprob):
        return UNAVAILABLE
    if logprob == -math.inf:
        return EXCLUDED
    return _percent(math.exp(min(logprob, 0.0)))


def probability_of(logprob: float | None) -> float | None:
    """The probability from 0 to 1, or None where there is no number to show."""
    if logprob is None or math.isnan(logprob):
        return None
    return math.exp(min(logprob, 0.0))


def _percent(probability: float) -> str:
    percent = probability * 100.0
    if percent == 100.0:
        return "100 %"
    if percent > 99.99:
        return ">99.99 %"
    if percent >= 10.0:
        return f"{percent:.2f} %" if percent > 99.9 else f"{percent:.1f} %"
    if percent >= 0.1:
        return f"{percent:.2f} %"
    return _tiny(percent)


def _tiny(percent: float) -> str:
    """One significant digit, in plain digits down to a billionth of a percent."""
    if percent < 1e-9:
        return "<0.000000001 %"
    decimals = -math.floor(math.log10(percent))
    return f"{percent:.{decimals}f} %"

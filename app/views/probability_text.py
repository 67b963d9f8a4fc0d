"""Probabilities in words and digits that stay true at the extremes."""

import math

NOT_MEASURED = "not measured"
UNAVAILABLE = "unavailable"
EXCLUDED = "excluded"


def percent_text(logprob: float | None, *, may_be_certain: bool = False) -> str:
    """The probability of `logprob` (nats) in percent.

    None is "not measured", NaN "unavailable", minus infinity "excluded". Otherwise two or three significant digits,
    one for tiny values, and never "0 %". A softmax over finite logits is never 1, so a logprob of 0 is a rounded one
    and shown as ">99.99 %"; only what a filter left alone `may_be_certain`.
    """
    if logprob is None:
        return NOT_MEASURED
    if math.isnan(logprob):
        return UNAVAILABLE
    if logprob == -math.inf:
        return EXCLUDED
    if logprob >= 0 and may_be_certain:
        return "100 %"
    return _percent(math.exp(min(logprob, 0.0)))


def probability_of(logprob: float | None) -> float | None:
    """The probability from 0 to 1, or None where there is no number to show."""
    if logprob is None or math.isnan(logprob):
        return None
    return math.exp(min(logprob, 0.0))


def _percent(probability: float) -> str:
    percent = probability * 100.0
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

"""What is known of one token, in a few lines of plain text."""

import math
from typing import Final

from engine.contracts import Removal, TokenLogprobs, TokenPiece, TopLogprob

_MAX_ALTERNATIVES: Final = 10
_REMOVALS: Final = {
    Removal.STOP_STRING: "removed by a stop string",
    Removal.MARKUP: "divides the parts of the message",
}


def token_words(piece: TokenPiece, measured: TokenLogprobs | None) -> str:
    """The token's spelling and id, then each value that was measured, then the alternatives."""
    lines = [_identity(piece), f"model: {_chance(None if measured is None else measured.logprob)}"]
    if measured is not None:
        lines += _values(measured)
        lines += [_alternative(each) for each in (measured.top or ())[:_MAX_ALTERNATIVES]]
    return "\n".join(lines)


def probability_of(logprob: float | None) -> float | None:
    """From 0 to 1; None where there is no number."""
    return None if logprob is None or math.isnan(logprob) else math.exp(min(logprob, 0.0))


def percent(logprob: float | None, *, may_be_certain: bool = False) -> str:
    """The probability of `logprob` (nats) in percent, in three significant digits.

    Never "0 %", and "100 %" only for what a filter left alone: a softmax over finite logits gives neither.
    """
    if logprob is None:
        return "not measured"
    if math.isnan(logprob):
        return "unavailable"
    if logprob == -math.inf:
        return "excluded"
    if logprob >= 0 and may_be_certain:
        return "100 %"
    shown = 100.0 * math.exp(min(logprob, 0.0))
    if shown > 99.99:
        return ">99.99 %"
    if shown < 1e-9:
        return "<0.000000001 %"
    return f"{shown:.2f} %" if shown > 99.9 else f"{shown:.3g} %"


def spelled(data: bytes) -> str:
    """The bytes as a quoted text with everything invisible escaped, or in hexadecimal where they are no text."""
    try:
        return repr(data.decode())
    except UnicodeDecodeError:
        return f"bytes {data.hex(' ')}"


def _identity(piece: TokenPiece) -> str:
    remarks = [spelled(piece.data), f"id {piece.id}"]
    if piece.special:
        remarks.append("special token")
    if piece.removed is not None:
        remarks.append(_REMOVALS[piece.removed])
    return " · ".join(remarks)


def _values(measured: TokenLogprobs) -> list[str]:
    lines = []
    if measured.adjusted is not None:
        lines.append(f"after penalties and bias: {_chance(measured.adjusted)}")
    if measured.sampled is not None:
        lines.append(f"sampled from: {_chance(measured.sampled, may_be_certain=True)}")
    if measured.rank is not None:
        lines.append(f"rank {measured.rank + 1}")
    if measured.entropy is not None:
        lines.append(f"entropy {measured.entropy / math.log(2):.3f} bits")
    return lines


def _alternative(candidate: TopLogprob) -> str:
    cut = f" (cut by {candidate.excluded_by})" if candidate.excluded_by else ""
    return f"{percent(candidate.logprob)}  {spelled(candidate.data)}{cut}"


def _chance(logprob: float | None, *, may_be_certain: bool = False) -> str:
    shown = percent(logprob, may_be_certain=may_be_certain)
    return f"{shown} (logprob {logprob:.4f})" if logprob is not None and math.isfinite(logprob) else shown

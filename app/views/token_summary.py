"""What is known of one token, in the words of its card."""

import math
from dataclasses import dataclass
from typing import Final

from app.views.probability_text import percent_text, probability_of
from app.views.visible_text import is_text, visible_text
from engine.contracts import Removal, TokenLogprobs, TokenPiece, TopLogprob

MAX_ALTERNATIVES: Final = 8
_ROUNDING: Final = 1e-6
"""Below this, what the listed candidates leave over is the rounding of their sum."""
_REMOVALS: Final = {
    Removal.STOP_STRING: "removed by a stop string",
    Removal.MARKUP: "divides the parts of the message",
}


@dataclass(frozen=True, slots=True)
class Alternative:
    """One line of the list of candidates. `share` from 0 to 1 is the length of its bar, 0 where there is no number."""

    label: str
    percent: str
    share: float
    chosen: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """A card's contents from top to bottom; where no fact names another, probabilities are the model's own."""

    label: str
    kind: str
    percent: str
    facts: tuple[tuple[str, str], ...]
    alternatives: tuple[Alternative, ...]
    rest: str | None

    @property
    def sentence(self) -> str:
        """The card as one sentence, for a screen reader."""
        facts = "".join(f", {name} {value}" for name, value in self.facts)
        others = [f"{each.label} {each.percent}" for each in self.alternatives if not each.chosen]
        instead = f"; alternatives: {', '.join(others)}" if others else ""
        return f"Token {self.label}, model probability {self.percent}{facts}{instead}."


def summarise(piece: TokenPiece, logprobs: TokenLogprobs | None) -> TokenSummary:
    """What a card shows of a token with these measurements (None: nothing was measured)."""
    measured = logprobs or TokenLogprobs()
    candidates = _candidates(piece, measured)
    return TokenSummary(
        label=visible_text(piece.data),
        kind=_kind(piece),
        percent=percent_text(measured.logprob),
        facts=tuple(_facts(measured)),
        alternatives=tuple(_alternative(each, chosen=each.id == piece.id) for each in candidates),
        rest=_rest(candidates),
    )


def _candidates(piece: TokenPiece, measured: TokenLogprobs) -> list[TopLogprob]:
    """The most probable tokens and always the chosen one; each id once."""
    if measured.top is None:
        return []
    listed = list({each.id: each for each in reversed(measured.top)}.values())[::-1]
    shown = listed[:MAX_ALTERNATIVES]
    if all(each.id != piece.id for each in shown):
        chosen = TopLogprob(piece.id, measured.logprob, piece.data, measured.adjusted, measured.sampled)
        shown.append(next((each for each in listed if each.id == piece.id), chosen))
    return shown


def _alternative(candidate: TopLogprob, *, chosen: bool) -> Alternative:
    return Alternative(
        label=visible_text(candidate.data, limit=24),
        percent=percent_text(candidate.logprob),
        share=probability_of(candidate.logprob) or 0.0,
        chosen=chosen,
        note=f"cut by {candidate.excluded_by}" if candidate.excluded_by else "",
    )


def _rest(candidates: list[TopLogprob]) -> str | None:
    """The probability of everything that is not listed; None when it cannot be known."""
    shares = [probability_of(each.logprob) for each in candidates]
    known = [share for share in shares if share is not None]
    if not known or len(known) < len(shares):
        return None
    rest = 1.0 - math.fsum(known)
    return percent_text(math.log(rest)) if rest > _ROUNDING else "<0.0001 %"


def _facts(measured: TokenLogprobs) -> list[tuple[str, str]]:
    facts = []
    if measured.rank is not None:
        facts.append(("rank", f"{measured.rank + 1:,}"))
    if measured.entropy is not None:
        facts.append(("entropy", f"{measured.entropy / math.log(2):.2f} bits"))
    if measured.adjusted is not None:
        facts.append(("after penalties and bias", percent_text(measured.adjusted)))
    if measured.sampled is not None:
        facts.append(("when drawn", percent_text(measured.sampled, may_be_certain=True)))
    return facts


def _kind(piece: TokenPiece) -> str:
    """What is particular about the token, with its id."""
    remarks = [f"id {piece.id}"]
    if piece.special:
        remarks.insert(0, "special token")
    elif piece.removed is not None:
        remarks.insert(0, _REMOVALS[piece.removed])
    elif not is_text(piece.data):
        remarks.insert(0, "part of a character")
    return " · ".join(remarks)

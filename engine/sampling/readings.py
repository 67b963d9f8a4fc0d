"""A step's measurements on the host, cut to what each row asked for."""

from typing import NamedTuple

from engine.contracts import CaptureSettings, TokenLogprobs, TopLogprob

GREEDY = "greedy"
"""What excluded every token but the best at temperature 0."""
BIAS = "logit_bias"
"""What excluded a token whose adjusted log-probability is already -inf."""


class Readings(NamedTuple):
    """What `Measured` describes, as plain lists with one entry per row."""

    logprob: list[float] | None
    top_ids: list[list[int]] | None
    top: list[list[float]] | None
    rank: list[int] | None
    entropy: list[float] | None
    adjusted: list[list[float]] | None
    drawn: list[list[float]] | None
    cut: list[list[int]] | None
    cut_names: tuple[str, ...]

    def record(self, row: int, wanted: CaptureSettings, *, greedy: bool) -> TokenLogprobs | None:
        """What `row` asked for, and nothing else; None when it asked for nothing."""
        if not wants_anything(wanted):
            return None
        stages = wanted.stages
        return TokenLogprobs(
            logprob=self.logprob[row] if wanted.logprob and self.logprob is not None else None,
            top=self._top(row, wanted, greedy) if wanted.top_k else None,
            adjusted=self.adjusted[row][0] if stages and self.adjusted is not None else None,
            sampled=self.drawn[row][0] if stages and self.drawn is not None else None,
            rank=self.rank[row] if wanted.rank and self.rank is not None else None,
            entropy=self.entropy[row] if wanted.entropy and self.entropy is not None else None,
        )

    def _top(self, row: int, wanted: CaptureSettings, greedy: bool) -> tuple[TopLogprob, ...] | None:
        if self.top_ids is None or self.top is None:
            return None
        ids, values = self.top_ids[row], self.top[row]
        # Another row of the step may have asked for more candidates. Equal ones stand in the order of their ids.
        places = sorted(range(len(ids)), key=lambda place: (-values[place], ids[place]))[: wanted.top_k]
        if not wanted.stages or self.drawn is None:
            return tuple(TopLogprob(ids[place], values[place]) for place in places)
        return tuple(self._staged(row, place, greedy) for place in places)

    def _staged(self, row: int, place: int, greedy: bool) -> TopLogprob:
        if self.top_ids is None or self.top is None or self.adjusted is None or self.drawn is None:
            raise ValueError("this step did not measure stages")
        return TopLogprob(
            id=self.top_ids[row][place],
            logprob=self.top[row][place],
            adjusted=self.adjusted[row][place + 1],
            sampled=self.drawn[row][place + 1],
            excluded_by=self._excluded_by(row, place + 1, greedy),
        )

    def _excluded_by(self, row: int, column: int, greedy: bool) -> str | None:
        if self.drawn is None or self.adjusted is None or self.drawn[row][column] != -float("inf"):
            return None
        if self.adjusted[row][column] == -float("inf"):
            return BIAS
        if greedy or self.cut is None:
            return GREEDY if greedy else None
        place = self.cut[row][column]
        return self.cut_names[place] if place >= 0 else None


def wants_anything(captures: CaptureSettings) -> bool:
    """Whether a row is to be measured at all."""
    return captures.logprob or captures.top_k > 0 or captures.stages or captures.entropy or captures.rank

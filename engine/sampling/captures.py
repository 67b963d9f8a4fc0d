"""What is measured of every drawn token, in the graph of the step that draws it."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import mlx.core as mx

from engine.contracts import CaptureSettings
from engine.sampling.chain import Draw
from engine.sampling.readings import Readings
from engine.sampling.top_ids import top_ids


class Measured(NamedTuple):
    """Lazy arrays of one step: what any of its rows wants, for all of its rows. None: nobody asked.

    Log-probabilities in nats, float32. `logprob`, `rank`, `entropy` are [rows]; `top_ids`, `top` [rows, k], unordered.
    `adjusted`, `drawn`, `cut` are [rows, 1 + k]: the chosen token first, then `top_ids`; `cut` is the place in
    `cut_names` of the filter that excluded the token, or -1.
    """

    logprob: mx.array | None = None
    top_ids: mx.array | None = None
    top: mx.array | None = None
    rank: mx.array | None = None
    entropy: mx.array | None = None
    adjusted: mx.array | None = None
    drawn: mx.array | None = None
    cut: mx.array | None = None
    cut_names: tuple[str, ...] = ()

    def arrays(self) -> list[mx.array]:
        """Everything that has to be computed with the step."""
        return [value for value in self if isinstance(value, mx.array)]

    def read(self) -> Readings:
        """The numbers on the host; waits for the step."""
        values: Iterator[Any] = (value.tolist() if isinstance(value, mx.array) else value for value in self)
        return Readings(*values)


class CapturePlan(NamedTuple):
    """The union of what the rows of a batch want."""

    logprob: bool
    top_k: int
    stages: bool
    entropy: bool
    rank: bool

    @classmethod
    def of(cls, captures: Sequence[CaptureSettings]) -> Self:
        return cls(
            logprob=any(each.logprob for each in captures),
            top_k=max((each.top_k for each in captures), default=0),
            stages=any(each.stages for each in captures),
            entropy=any(each.entropy for each in captures),
            rank=any(each.rank for each in captures),
        )


def measure(draw: Draw, plan: CapturePlan) -> Measured:
    """Add what is wanted of a draw to the step's graph. Nothing of vocabulary size is kept by the result."""
    if not any(plan):
        return Measured()
    total, entropy = _normalise(draw.raw, plan)
    measured = _under_the_model(draw.raw, draw.tokens, plan, total, entropy)
    return _with_stages(measured, draw, total) if plan.stages else measured


def measure_tokens(raw: mx.array, tokens: mx.array, plan: CapturePlan) -> Measured:
    """Measure given `tokens` [rows] under the model's logits `raw` [rows, vocabulary], float32; never any stages."""
    return _under_the_model(raw, tokens, plan, *_normalise(raw, plan)) if any(plan) else Measured()


def _normalise(raw: mx.array, plan: CapturePlan) -> tuple[mx.array, mx.array | None]:
    """The logarithm of the sum of exponentials [rows, 1]; with it, if wanted, the entropy in nats [rows].

    With z = exp(x - max x) and Z = sum z, it is max x + ln Z, and H = ln Z - sum(z (x - max x)) / Z. Exponentials are
    what measuring costs on a CPU, so they are taken once.
    """
    if not plan.entropy:
        return mx.logsumexp(raw, axis=-1, keepdims=True), None
    largest = mx.max(raw, axis=-1, keepdims=True)
    below = raw - largest
    weights = mx.exp(below)
    mass = weights.sum(axis=-1, keepdims=True)
    # A token of probability 0 adds nothing, though it may be infinitely far below.
    spread = mx.where(weights > 0, weights * below, 0.0).sum(axis=-1, keepdims=True)
    return largest + mx.log(mass), (mx.log(mass) - spread / mass)[:, 0]


def _under_the_model(
    raw: mx.array, tokens: mx.array, plan: CapturePlan, total: mx.array, entropy: mx.array | None
) -> Measured:
    at_tokens = mx.take_along_axis(raw, tokens[:, None], axis=-1)
    candidates = top_ids(raw, plan.top_k) if plan.top_k else None
    return Measured(
        logprob=(at_tokens - total)[:, 0] if plan.logprob else None,
        top_ids=candidates,
        top=mx.take_along_axis(raw, candidates, axis=-1) - total if candidates is not None else None,
        rank=(raw > at_tokens).sum(axis=-1) if plan.rank else None,
        entropy=entropy,
    )


def _with_stages(measured: Measured, draw: Draw, total: mx.array) -> Measured:
    columns = draw.tokens[:, None]
    if measured.top_ids is not None:
        columns = mx.concatenate([columns, measured.top_ids], axis=-1)
    if draw.adjusted is not draw.raw:
        total = mx.logsumexp(draw.adjusted, axis=-1, keepdims=True)
    return measured._replace(
        adjusted=mx.take_along_axis(draw.adjusted, columns, axis=-1) - total,
        drawn=_drawn_at(draw, columns),
        cut=_cut_at(draw, columns),
        cut_names=tuple(name for name, _ in draw.filtered),
    )


def _drawn_at(draw: Draw, columns: mx.array) -> mx.array:
    """Log-probabilities in the distribution drawn from; a greedy row's holds nothing but its token."""
    only = mx.where(columns == draw.tokens[:, None], 0.0, -float("inf"))
    if draw.drawn is None:
        return only
    total = mx.logsumexp(draw.drawn, axis=-1, keepdims=True)
    return mx.where(draw.greedy[:, None], only, mx.take_along_axis(draw.drawn, columns, axis=-1) - total)


def _cut_at(draw: Draw, columns: mx.array) -> mx.array:
    """The place of the first filter that excluded each token, or -1."""
    cut = mx.full(columns.shape, -1, dtype=mx.int32)
    for place, (_, logprobs) in enumerate(draw.filtered):
        excluded = mx.take_along_axis(logprobs, columns, axis=-1) == -float("inf")
        cut = mx.where((cut < 0) & excluded, place, cut)
    return cut

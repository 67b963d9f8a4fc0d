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
    measured = measure_tokens(draw.raw, draw.tokens, plan)
    return _with_stages(measured, draw) if plan.stages else measured


def measure_tokens(raw: mx.array, tokens: mx.array, plan: CapturePlan) -> Measured:
    """Measure given `tokens` [rows] under the model's logits `raw` [rows, vocabulary], float32; never any stages."""
    if not any(plan):
        return Measured()
    total = mx.logsumexp(raw, axis=-1, keepdims=True)
    at_tokens = mx.take_along_axis(raw, tokens[:, None], axis=-1)
    candidates = top_ids(raw, plan.top_k) if plan.top_k else None
    return Measured(
        logprob=(at_tokens - total)[:, 0] if plan.logprob else None,
        top_ids=candidates,
        top=mx.take_along_axis(raw, candidates, axis=-1) - total if candidates is not None else None,
        rank=(raw > at_tokens).sum(axis=-1) if plan.rank else None,
        entropy=_entropy(raw, total) if plan.entropy else None,
    )


def _entropy(raw: mx.array, total: mx.array) -> mx.array:
    """H = -sum(p ln p) in nats over the vocabulary; a token of probability 0 adds nothing."""
    logprobs = raw - total
    probabilities = mx.exp(logprobs)
    return -mx.where(probabilities > 0, probabilities * logprobs, 0.0).sum(axis=-1)


def _with_stages(measured: Measured, draw: Draw) -> Measured:
    columns = draw.tokens[:, None]
    if measured.top_ids is not None:
        columns = mx.concatenate([columns, measured.top_ids], axis=-1)
    cut = mx.full(columns.shape, -1, dtype=mx.int32)
    for place, (_, logprobs) in enumerate(draw.filtered):
        excluded = mx.take_along_axis(logprobs, columns, axis=-1) == -float("inf")
        cut = mx.where((cut < 0) & excluded, place, cut)
    return measured._replace(
        adjusted=_logprobs_at(draw.adjusted, columns),
        drawn=_logprobs_at(draw.drawn, columns),
        cut=cut,
        cut_names=tuple(name for name, _ in draw.filtered),
    )


def _logprobs_at(logits: mx.array, columns: mx.array) -> mx.array:
    return mx.take_along_axis(logits, columns, axis=-1) - mx.logsumexp(logits, axis=-1, keepdims=True)

"""Filters that exclude tokens from a draw, by mlx-lm's own functions."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import mlx.core as mx

from engine.contracts import SamplingSettings
from engine.sampling.mlx_lm_parts import import_part

_mlx_lm = import_part("sample_utils")

TOP_P: Final = "top_p"
MIN_P: Final = "min_p"
TOP_K: Final = "top_k"


class Filter(NamedTuple):
    """One kind of filter: its name, the value a row's settings give it (None: off), and what it does."""

    name: str
    value: Callable[[SamplingSettings, int], float | None]
    apply: Callable[[mx.array, float], mx.array]


def _top_p(settings: SamplingSettings, vocabulary: int) -> float | None:  # noqa: ARG001
    return settings.top_p if settings.top_p < 1.0 else None


def _min_p(settings: SamplingSettings, vocabulary: int) -> float | None:  # noqa: ARG001
    return settings.min_p if settings.min_p > 0.0 else None


def _top_k(settings: SamplingSettings, vocabulary: int) -> float | None:
    return settings.top_k if 0 < settings.top_k < vocabulary else None


FILTERS: Final = (
    Filter(TOP_P, _top_p, _mlx_lm.apply_top_p),
    Filter(MIN_P, _min_p, _mlx_lm.apply_min_p),
    Filter(TOP_K, _top_k, lambda logprobs, value: _mlx_lm.apply_top_k(logprobs, int(value))),
)
"""In the order mlx-lm applies them: each looks at what the earlier ones left."""


def apply_filter(kind: Filter, logprobs: mx.array, settings: Sequence[SamplingSettings]) -> mx.array:
    """`logprobs` [rows, vocabulary] with -inf where the filter excludes a token of that row.

    Rows with the same value go through together; the usual case, one value for all rows, gathers nothing.
    """
    groups: dict[float | None, list[int]] = {}
    for row, each in enumerate(settings):
        groups.setdefault(kind.value(each, logprobs.shape[-1]), []).append(row)
    if len(groups) == 1:
        return _filtered(kind, logprobs, next(iter(groups)))
    parts = [_filtered(kind, logprobs[mx.array(rows)], value) for value, rows in groups.items()]
    order = [row for rows in groups.values() for row in rows]
    places = sorted(range(len(order)), key=order.__getitem__)
    return mx.concatenate(parts)[mx.array(places)]


def _filtered(kind: Filter, logprobs: mx.array, value: float | None) -> mx.array:
    return logprobs if value is None else kind.apply(logprobs, value)

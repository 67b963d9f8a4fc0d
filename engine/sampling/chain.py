"""From a step's raw logits to one token per row."""

from collections.abc import Sequence
from typing import NamedTuple

import mlx.core as mx

from engine.contracts import SamplingSettings
from engine.sampling.filters import FILTERS, apply_filter
from engine.sampling.keys import draw_keys
from engine.sampling.penalties import Adjustment


class RowDraw(NamedTuple):
    """What a draw needs to know of one row: the number of the token in its answer, the tokens before the input."""

    number: int
    recent: Sequence[int]


class Draw(NamedTuple):
    """The tokens of one step with the distributions they came from; every array is still lazy.

    `tokens` [rows]. `raw`, `adjusted`, `drawn` [rows, vocabulary], float32: the model's logits; after bias and
    penalties (the same array as `raw` when there are none); the unnormalised log-probabilities drawn from, of the rows
    that are not `greedy` [rows], None when all are. `filtered` holds the adjusted log-probabilities after each filter,
    by its name, as far as a filter did anything.
    """

    tokens: mx.array
    raw: mx.array
    adjusted: mx.array
    drawn: mx.array | None
    greedy: mx.array
    filtered: tuple[tuple[str, mx.array], ...]


class Chain:
    """The sampler of a fixed list of rows; made anew whenever the batch changes. Seeds must be set."""

    def __init__(self, settings: Sequence[SamplingSettings]) -> None:
        self._settings = tuple(settings)
        self._seeds = [each.seed or 0 for each in settings]
        self._adjust = Adjustment(settings)
        greedy = [each.temperature == 0 for each in settings]
        self._all_greedy = all(greedy)
        self._any_greedy = any(greedy)
        self._greedy = mx.array(greedy)
        # A greedy row's temperature is only there to keep the division finite.
        self._temperature = mx.array([each.temperature or 1.0 for each in settings], dtype=mx.float32)[:, None]

    @property
    def windows(self) -> Sequence[int]:
        """How many of its latest tokens each row's penalties look at; 0 for none."""
        return self._adjust.windows

    def __call__(self, logits: mx.array, inputs: mx.array, rows: Sequence[RowDraw]) -> Draw:
        """Draw one token per row from `logits` [rows, vocabulary], fed with `inputs` [rows].

        A row draws the same whatever rows stand beside it.
        """
        raw = logits.astype(mx.float32)
        adjusted = self._adjust(raw, inputs, [row.recent for row in rows])
        best = mx.argmax(adjusted, axis=-1)
        if self._all_greedy:
            return Draw(best, raw, adjusted, None, self._greedy, ())
        filtered = self._filter(adjusted)
        last = filtered[-1][1] if filtered else adjusted
        # From the largest down: a tiny temperature must not divide anything but it to infinity.
        scaled = (last - mx.max(last, axis=-1, keepdims=True)) / self._temperature
        tokens = _categorical(scaled, draw_keys([(s, row.number) for s, row in zip(self._seeds, rows, strict=True)]))
        if self._any_greedy:
            tokens = mx.where(self._greedy, best, tokens)
        return Draw(tokens, raw, adjusted, scaled, self._greedy, filtered)

    def _filter(self, adjusted: mx.array) -> tuple[tuple[str, mx.array], ...]:
        stages: list[tuple[str, mx.array]] = []
        before: mx.array | None = None
        for kind in FILTERS:
            if before is None:
                if all(kind.value(each, adjusted.shape[-1]) is None for each in self._settings):
                    continue
                before = adjusted - mx.logsumexp(adjusted, axis=-1, keepdims=True)
            after = apply_filter(kind, before, self._settings)
            if after is not before:
                stages.append((kind.name, after))
                before = after
        return tuple(stages)


def _categorical(logits: mx.array, keys: mx.array) -> mx.array:
    """One draw per row, each with its own key. vmap, even of one row, makes the draw independent of the batch."""
    return mx.vmap(lambda row, key: mx.random.categorical(row, key=key))(logits, keys)

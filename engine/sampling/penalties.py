"""Penalties with logit bias: from raw to adjusted logits, for all rows of a step at once."""

from collections.abc import Sequence

import mlx.core as mx

from engine.contracts import SamplingSettings


def has_penalty(settings: SamplingSettings) -> bool:
    """Whether earlier tokens change the logits of the next one."""
    return settings.repetition_penalty != 1.0 or settings.presence_penalty != 0.0 or settings.frequency_penalty != 0.0


class Adjustment:
    """Bias and penalties of a fixed list of rows, in mlx-lm's order: bias, repetition, presence, frequency."""

    def __init__(self, settings: Sequence[SamplingSettings]) -> None:
        self._bias = _Bias.of(settings)
        self._penalised = any(has_penalty(each) for each in settings)
        self._windows = [each.penalty_window if has_penalty(each) else 0 for each in settings]
        self._repetition = _column([each.repetition_penalty for each in settings])
        self._presence = _column([each.presence_penalty for each in settings])
        self._frequency = _column([each.frequency_penalty for each in settings])

    @property
    def windows(self) -> Sequence[int]:
        """How many of a row's latest tokens its penalties look at, the step's input included; 0 for none."""
        return self._windows

    def __call__(self, logits: mx.array, inputs: mx.array, recent: Sequence[Sequence[int]]) -> mx.array:
        """Adjusted logits [rows, vocabulary] from raw ones; the same array when nothing applies.

        `inputs` [rows] are the tokens this step was fed, which the host may not know yet; `recent` are the tokens
        before them, of which the last `windows - 1` count.
        """
        if self._bias is not None:
            logits = self._bias.add_to(logits)
        if not self._penalised:
            return logits
        return self._penalise(logits, self._count(logits, inputs, recent))

    def _count(self, logits: mx.array, inputs: mx.array, recent: Sequence[Sequence[int]]) -> mx.array:
        """How often each token stands in each row's window: [rows, vocabulary]."""
        rows, vocabulary = logits.shape
        tails = [
            list(tail[max(0, len(tail) - window + 1) :]) if window > 0 else []
            for tail, window in zip(recent, self._windows, strict=True)
        ]
        width = max(len(tail) for tail in tails)
        # An id past the vocabulary stands for "no token": its column is counted, then cut off.
        padded = mx.array([[vocabulary] * (width - len(tail)) + tail for tail in tails], dtype=mx.uint32)
        looks = mx.array([window > 0 for window in self._windows])
        last = mx.where(looks, inputs.astype(mx.uint32), vocabulary)[:, None]
        window = mx.concatenate([padded.reshape(rows, width), last], axis=-1)
        counts = mx.zeros((rows, vocabulary + 1), dtype=logits.dtype)
        counts = counts.at[mx.arange(rows)[:, None], window].add(mx.ones(window.shape, dtype=logits.dtype))
        return counts[:, :vocabulary]

    def _penalise(self, logits: mx.array, counts: mx.array) -> mx.array:
        seen = counts > 0
        repeated = mx.where(logits < 0, logits * self._repetition, logits / self._repetition)
        logits = mx.where(seen, repeated, logits)
        return logits - seen * self._presence - counts * self._frequency


class _Bias:
    """The sparse bias of all rows as one scatter."""

    def __init__(self, rows: list[int], ids: list[int], values: list[float]) -> None:
        self._rows = mx.array(rows)
        self._ids = mx.array(ids)
        self._values = mx.array(values)

    @classmethod
    def of(cls, settings: Sequence[SamplingSettings]) -> "_Bias | None":
        entries = [
            (row, token_id, value) for row, each in enumerate(settings) for token_id, value in each.logit_bias.items()
        ]
        if not entries:
            return None
        rows, ids, values = zip(*entries, strict=True)
        return cls(list(rows), list(ids), list(values))

    def add_to(self, logits: mx.array) -> mx.array:
        return logits.at[self._rows, self._ids].add(self._values)


def _column(values: list[float]) -> mx.array:
    return mx.array(values, dtype=mx.float32)[:, None]

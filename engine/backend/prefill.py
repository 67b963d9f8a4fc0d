"""Reads one chunk of one row's ids into the row's own caches."""

from typing import Any, Final

import mlx.core as mx

from engine.backend.work import RowWork
from engine.sampling.captures import CapturePlan, Measured, measure_tokens

SCORED_CHUNK: Final = 64
"""Positions whose logits exist together while forced tokens are measured: 64 x 150,000 floats are 38 MB."""


def read_chunk(model: Any, work: RowWork, size: int) -> int:  # noqa: ANN401
    """Feed up to `size` ids, all but the last at most; returns how many. Waits for the device.

    Forced tokens that the chunk predicts are measured and delivered, as far as the outbox has room: 0 says there is
    none. Whatever the model raises passes through; the caches are then useless.
    """
    start, stop = work.read, _stop(work, size)
    if start == stop:
        return 0
    logits = model(mx.array(work.ids[start:stop])[None], cache=work.caches)
    predicts_forced = work.has_forced and start == work.published - 1
    measured = _measure(work, logits[0], start, stop) if predicts_forced else Measured()
    mx.eval([layer.state for layer in work.caches or ()], measured.arrays())
    work.read = stop
    if predicts_forced:
        _deliver(work, measured, stop - start)
    return stop - start


def _stop(work: RowWork, size: int) -> int:
    """Where the chunk ends. The id that predicts the first forced token begins a chunk of its own."""
    end = min(work.read + size, len(work.ids) - 1)
    if not work.has_forced:
        return end
    if work.read < work.published - 1:
        return min(end, work.published - 1)
    return min(end, work.read + min(SCORED_CHUNK, work.row.room))


def _measure(work: RowWork, logits: mx.array, start: int, stop: int) -> Measured:
    """Logits [positions, vocabulary] against the ids that follow them."""
    targets = mx.array(work.ids[start + 1 : stop + 1])
    return measure_tokens(logits.astype(mx.float32), targets, CapturePlan.of([work.captures]))


def _deliver(work: RowWork, measured: Measured, count: int) -> None:
    readings = measured.read()
    greedy = work.sampling.temperature == 0
    for position in range(count):
        work.publish_forced(readings.record(position, work.captures, greedy=greedy))

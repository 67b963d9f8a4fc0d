"""Decodes all active rows together, one token each, read one step later."""

from collections.abc import Iterable
from typing import NamedTuple

import mlx.core as mx

from engine.backend.batch_cache import BatchCache, create_batch_cache
from engine.backend.device import start_evaluation
from engine.backend.loading import LoadedModel
from engine.backend.step_sampler import StepSampler
from engine.backend.work import RowWork
from engine.sampling.captures import Measured

CLEAR_EVERY_STEPS = 256
"""How often the allocator gives back what growing caches left behind, as mlx-lm does."""


class Step(NamedTuple):
    """One token for each of some rows, on its way from the device, whoever has left the batch since."""

    works: tuple[RowWork, ...]
    tokens: mx.array
    measured: Measured

    def publish(self) -> None:
        """Wait for the step, and deliver its tokens to the rows that still go on."""
        readings = self.measured.read()
        tokens: list[int] = self.tokens.tolist()  # type: ignore[assignment]  # one dimension
        for place, (work, token) in enumerate(zip(self.works, tokens, strict=True)):
            if not work.row.has_ended:
                greedy = work.sampling.temperature == 0
                work.publish(token, readings.record(place, work.captures, greedy=greedy))


class DecodeBatch:
    """The active rows in their order.

    What the model raises passes through: then every row's cache is in doubt, and the batch must be thrown away.
    """

    def __init__(self, loaded: LoadedModel, sampler: StepSampler) -> None:
        self._loaded = loaded
        self._sampler = sampler
        self._works: tuple[RowWork, ...] = ()
        self._cache: BatchCache | None = None
        self._inputs: mx.array | None = None
        self._under_way: Step | None = None
        self._steps = 0

    @property
    def works(self) -> tuple[RowWork, ...]:
        return self._works

    @property
    def unread(self) -> tuple[RowWork, ...]:
        """Rows with a token on the device, also those that have left the batch."""
        return self._under_way.works if self._under_way is not None else ()

    def join(self, work: RowWork) -> None:
        """Add a row that has everything read but its last id. Its caches belong to the batch from here on."""
        caches, work.caches = work.caches or [], None
        if self._cache is None or not self._works:
            self._cache = create_batch_cache(caches)
        self._cache.join([caches])
        last = mx.array(work.ids[-1:], dtype=mx.uint32)
        self._inputs = last if self._inputs is None else mx.concatenate([self._inputs, last])
        self._works = (*self._works, work)

    def leave(self, leaving: Iterable[RowWork]) -> None:
        """Take rows out; each gets its own caches back."""
        gone = {id(work) for work in leaving}
        if not gone or self._cache is None or self._inputs is None:
            return
        for place, work in enumerate(self._works):
            if id(work) in gone:
                work.caches = self._cache.take_out(place)
                # Left lazy, the slices would keep the whole batch's arrays alive.
                start_evaluation([layer.state for layer in work.caches])
        staying = [place for place, work in enumerate(self._works) if id(work) not in gone]
        self._cache.keep(staying)
        self._inputs = self._inputs[mx.array(staying)] if staying else None
        self._works = tuple(self._works[place] for place in staying)

    def launch(self) -> tuple[Step | None, tuple[tuple[RowWork, Exception], ...]]:
        """Start the next step of all rows; returns the step before, with the rows whose sampler failed, and why.

        Those rows have left the batch, with their caches. The device works while the step before is published. When
        the model raises, the step before stays under way, to be had from `take_unread`.
        """
        if self._cache is None or self._inputs is None:
            return self.take_unread(), ()
        logits = self._cache.forward(self._loaded.model, self._inputs)[:, : self._loaded.vocabulary_size]
        drawn = self._sampler.draw(self._works, logits, self._inputs)
        before = self.take_unread()
        for work in self._works:
            work.read += 1
        self.leave(work for work, _ in drawn.failures)
        if drawn.tokens is not None:
            self._start(drawn.tokens, drawn.measured)
        self._tidy()
        return before, drawn.failures

    def take_unread(self) -> Step | None:
        """The step under way, to be published by the caller."""
        step, self._under_way = self._under_way, None
        return step

    def _start(self, tokens: mx.array, measured: Measured) -> None:
        start_evaluation(tokens, measured.arrays())
        self._inputs = tokens
        self._under_way = Step(self._works, tokens, measured)
        for work in self._works:
            work.drawn += 1

    def settle(self) -> None:
        """Wait for the step under way; its tokens stay unread."""
        if self._under_way is not None:
            mx.eval(self._under_way.tokens)

    def _tidy(self) -> None:
        self._steps += 1
        if self._steps % CLEAR_EVERY_STEPS == 0:
            mx.clear_cache()

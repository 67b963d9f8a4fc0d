"""Draws one token for every row of a step, while one row's failure stays its own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import mlx.core as mx

from engine.backend.work import RowWork
from engine.contracts import SamplingSettings
from engine.sampling.captures import CapturePlan, Measured, measure
from engine.sampling.chain import Draw, RowDraw


class Sampler(Protocol):
    """What `engine.sampling.chain.Chain` does for a fixed list of rows."""

    @property
    def windows(self) -> Sequence[int]: ...

    def __call__(self, logits: mx.array, inputs: mx.array, rows: Sequence[RowDraw]) -> Draw: ...


CreateSampler = Callable[[Sequence[SamplingSettings]], Sampler]


class StepDraw(NamedTuple):
    """The lazy tokens [rows] of the rows that have one, with what is measured of them; the other rows' failures."""

    works: tuple[RowWork, ...]
    tokens: mx.array | None
    measured: Measured
    failures: tuple[tuple[RowWork, Exception], ...] = ()


class StepSampler:
    """Keeps the sampler of the present rows; they change far less often than steps happen."""

    def __init__(self, create_sampler: CreateSampler) -> None:
        self._create_sampler = create_sampler
        self._works: tuple[RowWork, ...] = ()
        self._sampler: Sampler | None = None
        self._plan = CapturePlan.of(())

    def draw(self, works: tuple[RowWork, ...], logits: mx.array, inputs: mx.array) -> StepDraw:
        """One token per row from `logits` [rows, vocabulary], which `inputs` [rows] led to.

        When the rows fail together, each is tried alone: those that fail again have failed, the rest draw together.
        Raises what was raised when no single row is to blame.
        """
        try:
            return self._draw(works, logits, inputs)
        except Exception:
            failures = tuple(self._failures(works, logits, inputs))
            if not failures:
                raise
        failed = {id(work) for work, _ in failures}
        places = [place for place, work in enumerate(works) if id(work) not in failed]
        if not places:
            return StepDraw((), None, Measured(), failures)
        rows = mx.array(places)
        drawn = self._draw(tuple(works[place] for place in places), logits[rows], inputs[rows])
        return drawn._replace(failures=failures)

    def _failures(
        self, works: tuple[RowWork, ...], logits: mx.array, inputs: mx.array
    ) -> list[tuple[RowWork, Exception]]:
        failures: list[tuple[RowWork, Exception]] = []
        for place, work in enumerate(works):
            try:
                self._draw((work,), logits[place : place + 1], inputs[place : place + 1])
            except Exception as error:  # noqa: BLE001 - a border: it ends that row only
                failures.append((work, error))
        return failures

    def _draw(self, works: tuple[RowWork, ...], logits: mx.array, inputs: mx.array) -> StepDraw:
        sampler = self._sampler_of(works)
        rows = [
            RowDraw(work.drawn, work.ids[max(0, work.read - window) : work.read] if window else ())
            for work, window in zip(works, sampler.windows, strict=True)
        ]
        draw = sampler(logits, inputs, rows)
        return StepDraw(works, draw.tokens, measure(draw, self._plan))

    def _sampler_of(self, works: tuple[RowWork, ...]) -> Sampler:
        if self._sampler is None or works != self._works:
            self._sampler = None
            self._sampler = self._create_sampler([work.sampling for work in works])
            self._plan = CapturePlan.of([work.captures for work in works])
            self._works = works
        return self._sampler

"""Reads the prompts of the rows that cannot decode yet, a bounded number of tokens a unit."""

from typing import NamedTuple

import mlx.core as mx

from engine.backend.chunk_size import LARGEST, UNIT_MS, ChunkSize
from engine.backend.loading import LoadedModel
from engine.backend.prefill import read_chunk
from engine.backend.work import RowWork
from engine.contracts import Clock


class Prepared(NamedTuple):
    """What one unit led to: rows with everything read, and rows whose reader must catch up first."""

    ready: list[RowWork]
    stalled: list[RowWork]
    published: bool


class Preparation:
    """Rows in preparation.

    Those with the least to read go first, so that a short message never waits for a long one; no more rows than the
    group admits can go before.
    """

    def __init__(self, loaded: LoadedModel, clock: Clock) -> None:
        self._loaded = loaded
        self._clock = clock
        self._works: list[RowWork] = []
        self._untidied = 0

    @property
    def works(self) -> tuple[RowWork, ...]:
        return tuple(self._works)

    @property
    def tokens(self) -> int:
        """Prompt tokens still to be read."""
        return sum(work.unread for work in self._works)

    def add(self, work: RowWork) -> None:
        self._works.append(work)

    def remove(self, work: RowWork) -> None:
        self._works = [other for other in self._works if other is not work]

    def clear(self) -> None:
        self._works = []

    def advance(self, tokens: int, chunk: ChunkSize, target_ms: float = UNIT_MS) -> Prepared:
        """Read up to `tokens` in all; `chunk` learns from it. What a row's reading raises ends that row alone."""
        started, left = self._clock.now_ms(), tokens
        outcome = Prepared([], [], published=False)
        for work in sorted(self._works, key=lambda work: work.unread):
            if left <= 0:
                break
            before = work.published
            try:
                left -= read_chunk(self._loaded.model, work, left)
            except Exception as error:  # noqa: BLE001 - a border: what reading raises ends this row alone
                self.remove(work)
                work.fail(error)
                continue
            work.report_progress()
            outcome = outcome._replace(published=outcome.published or work.published > before)
            self._sort_out(work, outcome)
        chunk.learn(tokens - left, self._clock.now_ms() - started, target_ms)
        self._tidy(tokens - left)
        return outcome

    def _tidy(self, tokens: int) -> None:
        """Growing caches leave buffers behind. Giving them back in every unit would cost every step its own, too."""
        self._untidied += tokens
        if self._untidied >= LARGEST:
            self._untidied = 0
            mx.clear_cache()

    def _sort_out(self, work: RowWork, outcome: Prepared) -> None:
        if work.unread <= 0:
            outcome.ready.append(work)
            self.remove(work)
        elif work.has_forced and work.row.room <= 0:
            outcome.stalled.append(work)
            self.remove(work)

"""Reads the prompts of the rows that cannot decode yet, a bounded number of tokens a unit."""

from typing import NamedTuple

import mlx.core as mx

from engine.backend.loading import LoadedModel
from engine.backend.prefill import read_chunk
from engine.backend.row import RowProgress
from engine.backend.work import RowWork
from engine.contracts import Clock


class Prepared(NamedTuple):
    """What one unit led to: rows with everything read, rows whose reader must catch up first, failures."""

    ready: list[RowWork]
    stalled: list[RowWork]
    failed: list[tuple[RowWork, Exception]]
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

    @property
    def works(self) -> tuple[RowWork, ...]:
        return tuple(self._works)

    @property
    def tokens(self) -> int:
        """Prompt tokens still to be read."""
        return sum(work.unread for work in self._works)

    def add(self, work: RowWork) -> None:
        self._works.append(work)
        self._report(work)

    def remove(self, work: RowWork) -> None:
        self._works = [other for other in self._works if other is not work]

    def advance(self, tokens: int) -> Prepared:
        """Read up to `tokens` in all. A row's own failure is in the answer, and never touches another row."""
        outcome = Prepared([], [], [], published=False)
        for work in sorted(self._works, key=lambda work: work.unread):
            if tokens <= 0:
                break
            before = work.published
            try:
                tokens -= self._read(work, tokens)
            except Exception as error:  # noqa: BLE001 - a border: what reading raises ends this row alone
                outcome.failed.append((work, error))
                self.remove(work)
                continue
            outcome = outcome._replace(published=outcome.published or work.published > before)
            self._sort_out(work, outcome)
        return outcome

    def _read(self, work: RowWork, tokens: int) -> int:
        """One chunk, whose time teaches the size of the next."""
        started = self._clock.now_ms()
        count = read_chunk(self._loaded.model, work, tokens)
        if count and not work.has_forced:
            self._loaded.chunk.learn(count, self._clock.now_ms() - started)
        mx.clear_cache()
        self._report(work)
        return count

    def _sort_out(self, work: RowWork, outcome: Prepared) -> None:
        if work.unread <= 0:
            outcome.ready.append(work)
            self.remove(work)
        elif work.has_forced and work.row.room <= 0:
            outcome.stalled.append(work)
            self.remove(work)

    def _report(self, work: RowWork) -> None:
        total = work.prompt_tokens
        read = total if work.unread <= 0 else min(work.read, total)
        work.row.report_progress(RowProgress(read, total, work.cached))

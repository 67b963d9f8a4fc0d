"""The rows of one model on one device, as the scheduler drives them."""

import asyncio
import logging
from collections.abc import Callable
from typing import TypeVar

from engine.backend.admission import check_request
from engine.backend.chunk_size import LARGEST, UNIT_MS, ChunkSize
from engine.backend.decoding import Decoding
from engine.backend.exclusive import ExclusiveTasks
from engine.backend.holding import AdmissionHold
from engine.backend.limits import GroupLimits
from engine.backend.loading import LoadedModel
from engine.backend.memory import KvMemory
from engine.backend.prefix_store import PrefixStore
from engine.backend.preparation import Preparation
from engine.backend.problems import group_closed
from engine.backend.reuse import CacheReuse
from engine.backend.row import Row, RowRequest
from engine.backend.step_sampler import CreateSampler
from engine.backend.waiting import WaitingRows
from engine.backend.work import RowWork
from engine.contracts import Clock, MixedDemand, Release
from engine.sampling.chain import Chain

__all__ = ["GroupLimits", "MlxExecutionGroup"]

R = TypeVar("R")

_LOG = logging.getLogger(__name__)
_BESIDE = 1.25
"""While rows decode, reading a prompt may take this many times their step: their tokens then come in little more than
twice their usual time."""


class MlxExecutionGroup:
    """Implements `ExecutionGroup`.

    A row waits, is prepared, decodes, and rests outside the batch while its reader is slow. No unit ever suspends, so
    everything outside a unit sees whole steps. Belongs to the thread of the model.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        clock: Clock,
        limits: GroupLimits | None = None,
        *,
        create_sampler: CreateSampler = Chain,
    ) -> None:
        self._loaded = loaded
        self._limits = limits or GroupLimits()
        self._memory = KvMemory(loaded, self._limits.memory_bytes)
        self._store = PrefixStore(self._limits.store_bytes)
        self._reuse = CacheReuse(loaded, self._store)
        self._waiting = WaitingRows()
        self._preparation = Preparation(loaded, clock)
        self._decoding = Decoding(loaded, clock, create_sampler, self._reuse, self._memory)
        self._changed = asyncio.Event()
        self._tasks = ExclusiveTasks(self._changed.set)
        self._hold = AdmissionHold(self._changed.set)
        self._published_in_preparation = False
        self._closed = False

    # For those who want answers.

    def submit(self, request: RowRequest) -> Row:
        """Queue a row. Raises `ProblemError` when it cannot be served: a setting, a token, memory, a closed group."""
        if self._closed:
            raise group_closed()
        check_request(request, self._loaded)
        row = Row(request, self._limits.outbox_tokens, self._changed.set)
        work = RowWork(row, self._loaded.context_length)
        try:
            self._memory.check(self._reserved(), work.reserved)
        except Exception:
            row.close()
            row.leave()
            raise
        if work.prompt_tokens == 0 and work.has_forced:
            # Nothing comes before the first token, so nothing predicts it.
            work.publish_forced(None)
        self._waiting.add(work)
        self._changed.set()
        return row

    @property
    def fingerprint(self) -> str:
        """What the model's caches may be mixed with: those of the same fingerprint."""
        return self._loaded.fingerprint

    async def run_exclusively(self, job: Callable[[PrefixStore], R]) -> R:
        """Call `job` with the prefix store between two units; returns or raises what it does."""
        if self._closed:
            raise group_closed()
        return await self._tasks.run(lambda: job(self._store))

    def hold_admission(self) -> Release:
        """Admit nothing until the returned function is called (once or more); what runs goes on to its end."""
        return self._hold.take()

    def close(self) -> None:
        """End every row, let go of all caches, and refuse what comes later. Idempotent."""
        self.fail_all(group_closed())

    # For the scheduler: what there is to do.

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def admission_held(self) -> bool:
        return self._hold.is_held

    @property
    def queued(self) -> int:
        return self._waiting.ready

    @property
    def active(self) -> int:
        return len(self._decoding.works)

    @property
    def max_active(self) -> int:
        return self._limits.max_active

    @property
    def preparing(self) -> bool:
        return bool(self._preparation.works)

    @property
    def preparing_rows(self) -> int | None:
        return len(self._preparation.works)

    @property
    def preparing_tokens(self) -> int | None:
        return self._preparation.tokens

    @property
    def next_preparation_tokens(self) -> int | None:
        work = self._waiting.next
        return work.unread if work is not None else None

    @property
    def max_preparation_tokens(self) -> int | None:
        """None: rows are prepared each for itself, so a short one need not wait for long ones to end."""
        return None

    @property
    def max_iteration_tokens(self) -> int | None:
        return self.active + self._loaded.chunk_beside.tokens

    @property
    def can_prepare_more(self) -> bool:
        return True

    @property
    def preparation_published_output(self) -> bool:
        return self._published_in_preparation

    @property
    def mixed_preparation(self) -> MixedDemand | None:
        if not (self.preparing and self.active):
            return None
        return MixedDemand(running_tokens=self.active, minimum_preparation_tokens=1)

    @property
    def pending_tasks(self) -> int:
        return len(self._tasks)

    @property
    def supports_tasks(self) -> bool:
        return True

    @property
    def supports_mixed(self) -> bool:
        return True

    @property
    def shares_execution(self) -> bool:
        return False

    async def wait_for_work(self) -> None:
        while not self._has_work():
            self._changed.clear()
            await self._changed.wait()

    # For the scheduler: doing it.

    def reserve_residency(self) -> Release:
        """Whoever made the group keeps the model as long as the group is open."""
        return _nothing

    async def acquire_execution(self) -> Release:
        return _nothing

    def can_burst(self) -> bool:
        return True

    def prune_cancelled(self) -> None:
        for work in self._waiting.dropped:
            self._waiting.remove(work)
            self._dismiss(work)
        for work in self._preparation.works:
            if work.row.is_dropped:
                self._preparation.remove(work)
                self._dismiss(work)
        for work in self._decoding.take_dropped():
            self._dismiss(work)

    def admit_next(self) -> bool:
        work = self._waiting.next
        if work is None:
            return False
        self._waiting.remove(work)
        try:
            self._admit(work)
        except Exception as error:  # noqa: BLE001 - a border: what admission raises ends this row alone
            work.fail(error)
        return True

    async def advance_task(self) -> None:
        self._tasks.advance()

    async def advance(self) -> None:
        self._waiting.rest(self._decoding.advance())

    async def advance_preparation(self) -> None:
        self._prepare(self._loaded.chunk_alone.tokens, self._loaded.chunk_alone, UNIT_MS)

    async def advance_mixed(self, token_budget: float) -> None:
        chunk = self._loaded.chunk_beside
        try:
            slow, step_ms = self._decoding.advance_alone()
            self._waiting.rest(slow)
        except Exception as error:  # noqa: BLE001 - a border: raised from here, it would end every row of the group
            self.fail_active(error)
            step_ms = UNIT_MS
        tokens = max(1, min(int(min(token_budget, LARGEST)) - self.active, chunk.tokens))
        self._prepare(tokens, chunk, min(UNIT_MS, _BESIDE * step_ms))

    def fail_active(self, error: BaseException) -> None:
        _LOG.error("The decode step failed: %s", type(error).__name__)
        self._decoding.fail(error)

    def fail_all(self, error: BaseException) -> None:
        self._closed = True
        self._decoding.fail(error)
        for work in (*self._waiting.works, *self._preparation.works):
            work.fail(error)
        self._waiting = WaitingRows()
        self._preparation.clear()
        self._tasks.fail_all(error)
        self._store.shrink_to(0)
        self._changed.set()

    # Inside.

    def _has_work(self) -> bool:
        """A held group has no use for waiting rows, but one that is dropped has to be told so."""
        waits = not self._hold.is_held and (self._waiting.ready > 0 or len(self._tasks) > 0)
        return bool(self._closed or waits or self.active or self.preparing or self._waiting.dropped)

    def _reserved(self) -> list[int]:
        """Tokens to count on for the rows that may be in memory beside one more."""
        works = (*self._waiting.works, *self._preparation.works, *self._decoding.works)
        return sorted((work.reserved for work in works), reverse=True)[: self._limits.max_active - 1]

    def _admit(self, work: RowWork) -> None:
        self._store.shrink_to(max(0, self._memory.spare([*self._reserved(), work.reserved])))
        if work.caches is None:
            self._reuse.supply(work)
            work.report_progress()
        if work.unread > 0:
            self._preparation.add(work)
        else:
            self._decoding.add(work)

    def _prepare(self, tokens: int, chunk: ChunkSize, target_ms: float) -> None:
        outcome = self._preparation.advance(tokens, chunk, target_ms)
        self._published_in_preparation = outcome.published
        self._waiting.rest(outcome.stalled)
        for work in outcome.ready:
            self._reuse.remember_prompt(work)
            self._decoding.add(work)

    def _dismiss(self, work: RowWork) -> None:
        self._reuse.keep(work)
        work.row.leave()


def _nothing() -> None:
    """There is nothing to give back."""

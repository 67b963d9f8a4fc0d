"""The rows of one model on one device, as the scheduler drives them."""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable

from engine.backend.admission import check_request
from engine.backend.batch import DecodeBatch
from engine.backend.limits import GroupLimits
from engine.backend.loading import LoadedModel
from engine.backend.prefix_store import PrefixStore
from engine.backend.preparation import Preparation
from engine.backend.problems import group_closed
from engine.backend.row import Row, RowRequest
from engine.backend.step_sampler import CreateSampler, StepSampler
from engine.backend.work import RowWork
from engine.contracts import Clock, MixedDemand, Release
from engine.sampling.chain import Chain
from engine.sampling.mlx_lm_parts import import_part

__all__ = ["GroupLimits", "MlxExecutionGroup"]

_LOG = logging.getLogger(__name__)
_ROOM_TO_GO_ON = 2
"""A row that leaves the batch may have one more token on the device."""


class MlxExecutionGroup:
    """Implements `ExecutionGroup`.

    A row is queued, in preparation, in the batch, or resting: taken out, with its caches, until its reader has caught
    up. No unit ever suspends, so everything outside a unit sees whole steps. Belongs to the thread of the model.
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
        self._sampler = StepSampler(create_sampler)
        self._store = PrefixStore(self._limits.store_bytes)
        self._queue: deque[RowWork] = deque()
        self._resting: list[RowWork] = []
        self._preparation = Preparation(loaded, clock)
        self._published_in_preparation = False
        self._batch = DecodeBatch(loaded, self._sampler)
        self._changed = asyncio.Event()
        self._closed = False

    # For those who want answers.

    def submit(self, request: RowRequest) -> Row:
        """Queue a row. Raises `ProblemError` when the request cannot be served, or the group is closed."""
        if self._closed:
            raise group_closed()
        check_request(request, self._loaded)
        row = Row(request, self._limits.outbox_tokens, self._changed.set)
        work = RowWork(row, self._loaded.context_length)
        if work.prompt_tokens == 0:
            # Nothing comes before the first token, so nothing predicts it.
            work.publish_forced(None)
        self._queue.append(work)
        self._changed.set()
        return row

    def close(self) -> None:
        """End every row, let go of all caches, and refuse what comes later. Idempotent."""
        self.fail_all(group_closed())

    # For the scheduler: what there is to do.

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def admission_held(self) -> bool:
        return False

    @property
    def queued(self) -> int:
        return len(self._queue) + sum(_can_go_on(work) for work in self._resting)

    @property
    def active(self) -> int:
        return len(self._active_works())

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
        work = self._next_queued()
        return work.unread if work is not None else 0

    @property
    def max_preparation_tokens(self) -> int | None:
        return None

    @property
    def max_iteration_tokens(self) -> int | None:
        return self.active + self._loaded.chunk.tokens

    @property
    def can_prepare_more(self) -> bool:
        return True

    @property
    def preparation_published_output(self) -> bool:
        return self._published_in_preparation

    @property
    def mixed_preparation(self) -> MixedDemand | None:
        if not (self.preparing and self._batch.works):
            return None
        return MixedDemand(running_tokens=self.active, minimum_preparation_tokens=1)

    @property
    def pending_tasks(self) -> int:
        return 0

    @property
    def supports_tasks(self) -> bool:
        return False

    @property
    def supports_mixed(self) -> bool:
        return True

    @property
    def shares_execution(self) -> bool:
        return False

    async def wait_for_work(self) -> None:
        while not (self._closed or self.queued or self.active or self.preparing or self._has_dropped()):
            self._changed.clear()
            await self._changed.wait()

    # For the scheduler: doing it.

    def reserve_residency(self) -> Release:
        return lambda: None

    async def acquire_execution(self) -> Release:
        return lambda: None

    def can_burst(self) -> bool:
        return True

    def prune_cancelled(self) -> None:
        for work in [work for work in self._queue if work.row.is_dropped]:
            self._queue.remove(work)
            work.row.leave()
        for work in [work for work in self._resting if work.row.is_dropped]:
            self._resting.remove(work)
            self._dismiss(work)
        for work in self._preparation.works:
            if work.row.is_dropped:
                self._preparation.remove(work)
                self._dismiss(work)
        dropped = [work for work in self._active_works() if work.row.is_dropped]
        self._batch.leave(dropped)
        for work in dropped:
            self._dismiss(work)

    def admit_next(self) -> bool:
        work = self._next_queued()
        if work is None:
            return False
        if work in self._resting:
            self._resting.remove(work)
        else:
            self._queue.popleft()
        self._admit(work)
        return True

    async def advance(self) -> None:
        self._decode()

    async def advance_preparation(self) -> None:
        self._prepare(self._loaded.chunk.tokens)

    async def advance_mixed(self, token_budget: float) -> None:
        spare = min(token_budget - self.active, self._loaded.chunk.tokens)
        try:
            self._decode()
        except Exception as error:  # noqa: BLE001 - a border: raised from here, it would end every row of the group
            self.fail_active(error)
        self._prepare(max(1, int(spare)))

    def fail_active(self, error: BaseException) -> None:
        _LOG.error("The decode step failed: %s", type(error).__name__)
        for work in self._active_works():
            work.row.fail(error)
        self._batch = DecodeBatch(self._loaded, self._sampler)

    def fail_all(self, error: BaseException) -> None:
        self._closed = True
        for work in (*self._queue, *self._resting, *self._preparation.works, *self._active_works()):
            work.row.fail(error)
            work.caches = None
            self._preparation.remove(work)
        self._queue.clear()
        self._resting.clear()
        self._store.shrink_to(0)
        self._batch = DecodeBatch(self._loaded, self._sampler)
        self._changed.set()

    # Inside.

    def _active_works(self) -> list[RowWork]:
        """Rows in the batch, then those outside it whose last token is still on the device."""
        inside = self._batch.works
        return [*inside, *(work for work in self._batch.unread if work not in inside and not work.row.has_ended)]

    def _next_queued(self) -> RowWork | None:
        """A rested row comes first: its caches hold memory."""
        rested = next((work for work in self._resting if _can_go_on(work)), None)
        return rested or (self._queue[0] if self._queue else None)

    def _has_dropped(self) -> bool:
        return any(work.row.is_dropped for work in (*self._queue, *self._resting))

    def _admit(self, work: RowWork) -> None:
        try:
            if work.caches is None:
                work.caches, work.read = self._store.take(work.ids, work.reusable)
                work.cached = work.read
            if not work.caches:
                work.caches = import_part("models.cache").make_prompt_cache(self._loaded.model)
            if work.unread > 0:
                self._preparation.add(work)
            else:
                self._activate(work)
        except Exception as error:  # noqa: BLE001 - a border: what admission raises ends this row alone
            work.row.fail(error)

    def _activate(self, work: RowWork) -> None:
        if work.has_drawn_all:
            work.finish_at_limit()
            self._keep(work)
        else:
            self._batch.join(work)

    def _decode(self) -> None:
        complete = [work for work in self._batch.works if work.has_drawn_all]
        self._batch.leave(complete)
        step, failures = self._batch.launch()
        if step is not None:
            step.publish()
        for work, error in failures:
            work.row.fail(error)
        stopping = [work for work in self._batch.works if work.row.has_ended]
        tired = [work for work in self._batch.works if not work.row.has_ended and work.row.room < _ROOM_TO_GO_ON]
        self._batch.leave([*stopping, *tired])
        self._resting.extend(tired)
        self._keep_all((*complete, *stopping, *(work for work, _ in failures)))

    def _prepare(self, tokens: int) -> None:
        outcome = self._preparation.advance(tokens)
        self._published_in_preparation = outcome.published
        for work, error in outcome.failed:
            work.caches = None
            work.row.fail(error)
        self._resting.extend(outcome.stalled)
        for work in outcome.ready:
            self._activate(work)

    def _dismiss(self, work: RowWork) -> None:
        self._keep(work)
        work.row.leave()

    def _keep_all(self, works: Iterable[RowWork]) -> None:
        for work in works:
            self._keep(work)

    def _keep(self, work: RowWork) -> None:
        """Give the row's caches to the store; what that raises costs only the reuse."""
        caches, work.caches = work.caches, None
        if not caches:
            return
        try:
            self._store.put(work.ids[: work.read], caches)
        except Exception:  # noqa: BLE001 - a border: the row itself has its outcome already
            _LOG.exception("A row's caches could not be kept")


def _can_go_on(work: RowWork) -> bool:
    return work.row.has_drained and not work.is_on_device

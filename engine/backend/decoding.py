"""The life of active rows, from joining the batch to leaving it."""

from engine.backend.batch import DecodeBatch, Step
from engine.backend.footprint import BLOCK
from engine.backend.loading import LoadedModel
from engine.backend.memory import KvMemory
from engine.backend.reuse import CacheReuse
from engine.backend.step_sampler import CreateSampler, StepSampler
from engine.backend.work import RowWork
from engine.contracts import Clock, FinishReason

_ROOM_TO_GO_ON = 2
"""A row that leaves the batch may have one more token on the device."""


class Decoding:
    """The active rows of a group: those in the batch, and those whose last token is still on the device."""

    def __init__(
        self, loaded: LoadedModel, clock: Clock, create_sampler: CreateSampler, reuse: CacheReuse, memory: KvMemory
    ) -> None:
        self._loaded = loaded
        self._clock = clock
        self._sampler = StepSampler(create_sampler)
        self._reuse = reuse
        self._memory = memory
        self._batch = DecodeBatch(loaded, self._sampler)

    @property
    def works(self) -> tuple[RowWork, ...]:
        inside = self._batch.works
        outside = (work for work in self._batch.unread if work not in inside and not work.row.has_ended)
        return (*inside, *outside)

    def add(self, work: RowWork) -> None:
        """Take a row that has everything read but its last id. One that may draw nothing ends here."""
        if work.has_drawn_all:
            work.finish_at_limit()
            self._reuse.keep(work)
            return
        try:
            self._batch.join(work)
        except Exception as error:  # noqa: BLE001 - a border: joining may have changed some layers and not others
            work.fail(error)
            self.fail(error)

    def advance(self) -> list[RowWork]:
        """One step of every row. Returns the rows whose readers are slow; they have left, with their caches.

        Raises what the model raised; the rows must then be failed.
        """
        self._make_room()
        complete = [work for work in self._batch.works if work.has_drawn_all]
        self._batch.leave(complete)
        try:
            before, failures = self._batch.launch()
        except Exception:
            # What was drawn before is right, and may be the last token of rows that have left already.
            self._publish(self._batch.take_unread())
            raise
        self._publish(before)
        for work, error in failures:
            work.row.fail(error)
        ended = [work for work in self._batch.works if work.row.has_ended]
        slow = [work for work in self._batch.works if not work.row.has_ended and work.row.room < _ROOM_TO_GO_ON]
        self._batch.leave([*ended, *slow])
        for work in (*complete, *ended, *(work for work, _ in failures)):
            self._reuse.keep(work)
        return slow

    def advance_alone(self) -> tuple[list[RowWork], float]:
        """One step from an idle device to an idle device, with the milliseconds it took. Else like `advance`.

        What the device does next is then measured rightly too.
        """
        self._batch.settle()
        started = self._clock.now_ms()
        slow = self.advance()
        self._batch.settle()
        return slow, self._clock.now_ms() - started

    def take_dropped(self) -> list[RowWork]:
        """Take out the rows that nobody waits for any more, with their caches."""
        dropped = [work for work in self.works if work.row.is_dropped]
        self._batch.leave(dropped)
        return dropped

    def fail(self, error: BaseException) -> None:
        """End every row; their caches are in doubt. The next row starts a new batch."""
        for work in self.works:
            work.fail(error)
        self._batch = DecodeBatch(self._loaded, self._sampler)

    def _publish(self, step: Step | None) -> None:
        if step is not None:
            step.publish()

    def _make_room(self) -> None:
        """When caches are about to grow beyond the memory, the longest row has to end instead of everything."""
        works = self._batch.works
        if not any(work.read % BLOCK == 0 for work in works):
            return
        if self._memory.spare([work.read + 1 for work in works]) < 0:
            longest = max(works, key=lambda work: work.read)
            longest.row.finish(FinishReason.CONTEXT_FULL)
            self._batch.leave([longest])
            longest.caches = None

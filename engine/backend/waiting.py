"""Rows that wait: new ones for their turn, resting ones for their reader."""

from collections import deque
from collections.abc import Iterable

from engine.backend.work import RowWork


class WaitingRows:
    """First come, first served, but a rested row goes before a new one: its caches hold memory."""

    def __init__(self) -> None:
        self._new: deque[RowWork] = deque()
        self._resting: list[RowWork] = []

    @property
    def works(self) -> tuple[RowWork, ...]:
        return (*self._resting, *self._new)

    @property
    def ready(self) -> int:
        """Rows that could be admitted now."""
        return len(self._new) + sum(_has_rested(work) for work in self._resting)

    @property
    def dropped(self) -> tuple[RowWork, ...]:
        """Rows that nobody waits for any more."""
        return tuple(work for work in self.works if work.row.is_dropped)

    @property
    def next(self) -> RowWork | None:
        """The row whose turn it is."""
        rested = next((work for work in self._resting if _has_rested(work)), None)
        return rested or (self._new[0] if self._new else None)

    def add(self, work: RowWork) -> None:
        self._new.append(work)

    def rest(self, works: Iterable[RowWork]) -> None:
        """These rows' readers are slow; the rows bring their caches along."""
        self._resting.extend(works)

    def remove(self, work: RowWork) -> None:
        if work in self._resting:
            self._resting.remove(work)
        else:
            self._new.remove(work)


def _has_rested(work: RowWork) -> bool:
    """The reader has caught up, and the row's last token has come from the device."""
    return work.row.has_drained and not work.is_on_device

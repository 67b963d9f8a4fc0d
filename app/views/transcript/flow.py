"""Where every row of the transcript stands, as far as anybody has looked."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.views.transcript.message import TranscriptMessage


class Anchor(NamedTuple):
    """What stands at the top of the viewport: a row of a message, and how many of its pixels are hidden above.

    This is the truth about the scroll position; the scroll bar is derived from it. Anchors compare in reading order.
    """

    message: int
    row: int
    hidden: float


TOP = Anchor(0, 0, 0.0)


class PlacedRow(NamedTuple):
    """A row in the viewport; `top` is negative where it begins above."""

    message: int
    row: int
    top: float
    height: float


class _Heights:
    """The heights of one message's rows: measured where somebody looked, an average elsewhere."""

    def __init__(self) -> None:
        self.measured: dict[int, float] = {}
        self.sum = 0.0

    def set(self, row: int, height: float) -> None:
        self.sum += height - self.measured.get(row, 0.0)
        self.measured[row] = height

    def drop(self, row: int) -> None:
        self.sum -= self.measured.pop(row, 0.0)


class Flow:
    """Rows under each other. Moving an anchor measures the rows it passes and no others."""

    def __init__(
        self,
        messages: Sequence[TranscriptMessage],
        measure: Callable[[int, int], float],
        estimate: Callable[[TranscriptMessage], float],
    ) -> None:
        self._messages = messages
        self._measure = measure
        self._estimate = estimate
        self._heights: list[_Heights] = []
        self._totals: list[float] = []

    def forget_all(self) -> None:
        """Every height is unknown again: the width or the font changed."""
        self._heights.clear()
        self._totals.clear()

    def forget_rows(self, message: int, first: int, last: int) -> None:
        """The rows from `first` to `last` changed."""
        if message < len(self._heights):
            for row in range(first, last + 1):
                self._heights[message].drop(row)
            self._update_total(message)

    def height(self, message: int, row: int) -> float:
        """The row's height in pixels; measured when it is not known yet."""
        self._extend()
        known = self._heights[message].measured.get(row)
        if known is None:
            known = self._measure(message, row)
            self._heights[message].set(row, known)
            self._update_total(message)
        return known

    def total(self) -> float:
        """The height of everything, partly estimated."""
        self._extend()
        return sum(self._totals)

    def position_of(self, anchor: Anchor) -> float:
        """Pixels above the anchor, partly estimated."""
        self._extend()
        if not self._messages:
            return 0.0
        measured = self._heights[anchor.message].measured
        average = self._average(anchor.message)
        surplus = sum(height - average for row, height in measured.items() if row < anchor.row)
        return sum(self._totals[: anchor.message]) + anchor.row * average + surplus + anchor.hidden

    def anchor_at(self, position: float) -> Anchor:
        """The anchor about `position` pixels from the top."""
        self._extend()
        for message, total in enumerate(self._totals):
            if position < total:
                return self._anchor_within(message, position)
            position -= total
        return self.end(0.0)

    def moved(self, anchor: Anchor, pixels: float) -> Anchor:
        """The anchor that many pixels further down (up when negative), inside the content."""
        if not self._messages:
            return TOP
        message, row, hidden = anchor
        hidden += pixels
        while hidden < 0 and (above := self._above(message, row)) is not None:
            message, row = above
            hidden += self.height(message, row)
        while hidden >= self.height(message, row) and (below := self._below(message, row)) is not None:
            hidden -= self.height(message, row)
            message, row = below
        return Anchor(message, row, max(hidden, 0.0))

    def end(self, viewport: float) -> Anchor:
        """The anchor that shows the end of the content at the foot of a viewport of that height."""
        if not self._messages:
            return TOP
        message = len(self._messages) - 1
        row = self._messages[message].row_count - 1
        missing = viewport - self.height(message, row)
        while missing > 0 and (above := self._above(message, row)) is not None:
            message, row = above
            missing -= self.height(message, row)
        return Anchor(message, row, max(-missing, 0.0))

    def placed(self, anchor: Anchor, viewport: float) -> list[PlacedRow]:
        """The rows that a viewport of that height shows."""
        rows: list[PlacedRow] = []
        place = (anchor.message, anchor.row) if self._messages else None
        top = -anchor.hidden
        while place is not None and top < viewport:
            height = self.height(*place)
            rows.append(PlacedRow(*place, top, height))
            top += height
            place = self._below(*place)
        return rows

    def _anchor_within(self, message: int, position: float) -> Anchor:
        measured, average = self._heights[message].measured, self._average(message)
        row = 0
        while row < self._messages[message].row_count - 1 and position >= (h := measured.get(row, average)):
            position -= h
            row += 1
        return Anchor(message, row, min(position, self.height(message, row) - 1))

    def _above(self, message: int, row: int) -> tuple[int, int] | None:
        if row > 0:
            return message, row - 1
        return (message - 1, self._messages[message - 1].row_count - 1) if message > 0 else None

    def _below(self, message: int, row: int) -> tuple[int, int] | None:
        if row + 1 < self._messages[message].row_count:
            return message, row + 1
        return (message + 1, 0) if message + 1 < len(self._messages) else None

    def _extend(self) -> None:
        """Take note of messages added since."""
        for message in range(len(self._heights), len(self._messages)):
            self._heights.append(_Heights())
            self._totals.append(0.0)
            self._update_total(message)

    def _update_total(self, message: int) -> None:
        heights = self._heights[message]
        unmeasured = self._messages[message].row_count - len(heights.measured)
        self._totals[message] = heights.sum + unmeasured * self._average(message)

    def _average(self, message: int) -> float:
        """The height to expect of a row nobody has measured."""
        return self._estimate(self._messages[message]) / self._messages[message].row_count

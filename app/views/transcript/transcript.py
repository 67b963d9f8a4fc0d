"""The widget that shows a conversation."""

import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QElapsedTimer, QEvent, QRect, Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from app.views.transcript.message import TranscriptMessage
from app.views.transcript.pointing import TokenPlace, token_at
from app.views.transcript.selectable_view import SelectableView
from app.views.transcript.selection import Position
from engine.contracts import Role, TokenLogprobs, TokenPiece

FRAME_MS: Final = 33
"""No more than 30 repaints in a second, however fast tokens come."""

_NOTHING: Final = (sys.maxsize, 0)
"""No message and row at all: what the first changed one is before anything changed."""

Arrival = tuple[str, Sequence[TokenPiece], Sequence[TokenLogprobs | None] | None]


class HoveredToken(NamedTuple):
    """A token under the mouse, with the place of its cell in the viewport."""

    piece: TokenPiece
    logprobs: TokenLogprobs | None
    place: QRect


class Transcript(SelectableView):
    """Shows messages as they grow.

    Tokens are collected and shown together with the next frame; while the transcript is hidden they are only kept.
    """

    token_hovered = Signal(object)
    """A `HoveredToken`, or None once the mouse is on no token."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Conversation")
        self._arrived: list[Arrival] = []
        self._changed = _NOTHING
        self._since_frame = QElapsedTimer()
        self._since_frame.start()
        self._frame = QTimer(self, singleShot=True)
        self._frame.setTimerType(Qt.TimerType.PreciseTimer)
        self._frame.timeout.connect(self.show_arrived)
        self.viewport().setMouseTracking(True)

    def begin_message(self, key: str, role: Role, text: str = "") -> None:
        """Add a message at the end. The user's own message brings the end into view."""
        message = TranscriptMessage(key, role, text)
        message.ended = role is not Role.ASSISTANT
        self.page.add(message)
        if role is Role.USER:
            self.position.follow()
        self._request_frame()

    def append_pieces(
        self, key: str, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None
    ) -> None:
        """Keep tokens for the next frame."""
        self._arrived.append((key, pieces, logprobs))
        self._request_frame()

    def end_message(self, key: str, note: str = "") -> None:
        """Nothing more will come for this message."""
        message = self.page.messages[self.page.index_of(key)]
        message.note, message.ended = note, True
        self._note_change(self.page.index_of(key), message.row_count - 2)
        self._request_frame()

    def clear_messages(self) -> None:
        self._arrived.clear()
        self._hover(None)
        self.rows = []
        self.page.clear()
        self.position.reset()
        self.look.selection.select(Position(0, 0), Position(0, 0))
        self._request_frame()

    def show_heat(self, shown: bool) -> None:
        """Colour tokens by probability, or not; lays nothing out."""
        self.look.heat_shown = shown
        self._hover(None)
        self.viewport().update()

    def show_arrived(self) -> None:
        """Show now what came since the last frame."""
        self._frame.stop()
        self._since_frame.start()
        arrived, self._arrived = self._arrived, []
        for key, pieces, logprobs in arrived:
            self._append(key, pieces, logprobs)
        changed, self._changed = self._changed, _NOTHING
        self.refresh(self._top_of(changed))

    def selected_text(self) -> str:
        self.show_arrived()
        return super().selected_text()

    def selectAll(self) -> None:  # noqa: N802 - named as in Qt's fields, for the Edit menu
        self.show_arrived()
        super().selectAll()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.show_arrived()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        if self.look.heat_shown and not event.buttons():
            self._hover(token_at(self.page, self.rows, event.position(), self.text_font()))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(None)
        return super().viewportEvent(event)

    def refresh(self, only_below: float = 0.0) -> None:
        """As the page's; a token that moved away from under the mouse is not hovered any more."""
        before = self.rows[:1]
        super().refresh(only_below)
        if self.rows[:1] != before:
            self._hover(None)

    def _append(self, key: str, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None) -> None:
        index = self.page.index_of(key)
        message = self.page.messages[index]
        last_block = len(message.blocks) - 1
        first_changed = message.append(pieces, logprobs)
        self.page.note_change(index, first_changed, last_block)
        self._note_change(index, first_changed + 1)

    def _note_change(self, message: int, row: int) -> None:
        self._changed = min(self._changed, (message, row))

    def _top_of(self, changed: tuple[int, int]) -> float:
        """Where in the viewport the next frame begins to differ; the rows above keep their place."""
        return next((row.top for row in self.rows if (row.message, row.row) >= changed), 0.0)

    def _request_frame(self) -> None:
        """Ask for a frame: at once when the last one is long ago, together with what else comes otherwise."""
        if self.isVisible() and not self._frame.isActive():
            self._frame.start(max(0, FRAME_MS - self._since_frame.elapsed()))

    def _hover(self, place: TokenPlace | None) -> None:
        hovered = (place.message, place.token) if place is not None else None
        if hovered == self.look.hovered:
            return
        self.look.hovered = hovered
        self.viewport().update()
        self.token_hovered.emit(self._described(place) if place is not None else None)

    def _described(self, place: TokenPlace) -> HoveredToken:
        message = self.page.messages[place.message]
        rectangle = place.rectangle.toAlignedRect()
        return HoveredToken(message.pieces[place.token], message.logprobs[place.token], rectangle)

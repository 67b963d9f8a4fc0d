"""The geometry of a transcript: which row stands where in a column of a given width."""

from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QFont, QFontMetricsF

from app.views.transcript.cells import TokenCell, block_cells
from app.views.transcript.flow import Flow, PlacedRow
from app.views.transcript.message import TranscriptMessage
from app.views.transcript.typesetting import LINE_SPACING, BlockLayout, Typesetter
from engine.contracts import Part, Role

MAX_COLUMN: Final = 760.0
MARGIN: Final = 16.0
GAP: Final = 20.0
BUBBLE_PADDING: Final = 10.0
BUBBLE_SIDE: Final = 15.0
BUBBLE_SHARE: Final = 0.84
PART_INSET: Final = 18.0
PART_GAP: Final = 10.0
LABEL_LINES: Final = 1.5
FOOTER_LINES: Final = 1.6
"""Heights of the label above an answer and of the note below it, in lines of text."""
_FITTED_BLOCKS: Final = 12
_FITTED_CHARACTERS: Final = 1_500
"""A bubble shrinks to its text when it has no more than this; a longer one takes the whole width unread."""


class Column(NamedTuple):
    """The horizontal stretch that a message's text may use."""

    left: float
    width: float


class Page:
    """Owns messages, layouts and heights; knows no scroll position and paints nothing."""

    def __init__(self) -> None:
        self.messages: list[TranscriptMessage] = []
        self.typesetter = Typesetter()
        self.flow = Flow(self.messages, self._row_height, self._estimated_height)
        self._by_key: dict[str, int] = {}
        self._bubbles: dict[str, float] = {}
        self._cells: WeakKeyDictionary[BlockLayout, list[TokenCell]] = WeakKeyDictionary()
        self._font = QFont()
        self._width = MAX_COLUMN

    @property
    def width(self) -> float:
        return self._width

    @property
    def label_height(self) -> float:
        """The height of the label above an answer."""
        return self._line * LABEL_LINES

    @property
    def _line(self) -> float:
        return QFontMetricsF(self._font).height()

    def index_of(self, key: str) -> int:
        """The place of a message; KeyError when there is none by that key."""
        return self._by_key[key]

    def add(self, message: TranscriptMessage) -> None:
        self._by_key[message.key] = len(self.messages)
        self.messages.append(message)

    def clear(self) -> None:
        self.messages.clear()
        self._by_key.clear()
        self._forget_layouts()

    def resize(self, width: float, font: QFont) -> None:
        """Use another viewport width or font; every layout is made anew when it is next needed."""
        self._width, self._font = width, QFont(font)
        self._forget_layouts()

    def note_change(self, message: int, first_block: int, old_last_block: int) -> None:
        """The blocks from `first_block` on changed, or are new since `old_last_block` was the last."""
        key = self.messages[message].key
        self.typesetter.forget(key, first_block, old_last_block)
        self._bubbles.pop(key, None)
        self.flow.forget_rows(message, first_block + 1, old_last_block + 2)

    def layout(self, message: int, block: int) -> BlockLayout:
        """The block's lines, made when they are not there."""
        shown = self.messages[message]
        width = self._text_width(shown)
        if shown.blocks[block].part is not Part.ANSWER:
            width -= PART_INSET
        return self.typesetter.layout(shown.key, block, shown.blocks[block], self._font, width)

    def cells(self, row: PlacedRow) -> list[TokenCell]:
        """The cells of a block's tokens, relative to its text's corner.

        They belong to the layout: whatever brings a token to a block changes its text, and so has it laid out again.
        """
        layout = self.layout(row.message, row.row - 1)
        cells = self._cells.get(layout)
        if cells is None:
            message = self.messages[row.message]
            cells = self._cells[layout] = block_cells(message, message.blocks[row.row - 1], layout)
        return cells

    def text_origin(self, row: PlacedRow) -> QPointF:
        """The corner of the text of a block's row, in the viewport."""
        message = self.messages[row.message]
        inset = 0.0 if message.blocks[row.row - 1].part is Part.ANSWER else PART_INSET
        return QPointF(self.text_left(row.message) + inset, row.top + self._gap_above(message, row.row - 1))

    def text_left(self, message: int) -> float:
        if self.messages[message].role is not Role.USER:
            return self.column.left
        return self.bubble(message).left + BUBBLE_SIDE

    @property
    def column(self) -> Column:
        width = max(80.0, min(MAX_COLUMN, self._width - 2 * MARGIN))
        return Column(round((self._width - width) / 2), width)

    def bubble(self, message: int) -> Column:
        """The tinted stretch behind a user's message, at the right of the column."""
        shown, column = self.messages[message], self.column
        width = self._bubbles.get(shown.key)
        if width is None:
            width = self._bubbles[shown.key] = self._bubble_width(message)
        return Column(column.left + column.width - width, width)

    def is_block(self, message: int, row: int) -> bool:
        """Whether the row holds text; a message's first and last row are its header and footer."""
        return 0 < row < self.messages[message].row_count - 1

    def footer_rectangle(self, row: PlacedRow) -> QRectF:
        """Where a message's note and special tokens stand."""
        column = self.column
        return QRectF(column.left, row.top + 4, column.width, row.height - 4)

    def _text_width(self, message: TranscriptMessage) -> float:
        if message.role is Role.USER:
            return self.column.width * BUBBLE_SHARE - 2 * BUBBLE_SIDE
        return self.column.width

    def _bubble_width(self, message: int) -> float:
        shown = self.messages[message]
        widest = self._text_width(shown)
        count = len(shown.blocks)
        if count <= _FITTED_BLOCKS and shown.length <= _FITTED_CHARACTERS:
            widest = min(widest, max(self.layout(message, block).natural_right for block in range(count)) + 1)
        return widest + 2 * BUBBLE_SIDE

    def _row_height(self, message: int, row: int) -> float:
        shown = self.messages[message]
        is_user = shown.role is Role.USER
        if row == 0:
            return GAP + (BUBBLE_PADDING if is_user else self.label_height)
        if row == shown.row_count - 1:
            return BUBBLE_PADDING if is_user else self._line * FOOTER_LINES
        return self._gap_above(shown, row - 1) + self.layout(message, row - 1).height

    def _gap_above(self, message: TranscriptMessage, block: int) -> float:
        """Thinking and answer stand apart."""
        blocks = message.blocks
        return PART_GAP if block > 0 and blocks[block].part is not blocks[block - 1].part else 0.0

    def _estimated_height(self, message: TranscriptMessage) -> float:
        metrics = QFontMetricsF(self._font)
        in_a_line = max(1.0, self._text_width(message) / metrics.averageCharWidth())
        lines = len(message.blocks) * 0.75 + message.length / in_a_line
        return GAP + (LABEL_LINES + FOOTER_LINES + lines * LINE_SPACING) * self._line

    def _forget_layouts(self) -> None:
        self.typesetter.forget_all()
        self.flow.forget_all()
        self._bubbles.clear()

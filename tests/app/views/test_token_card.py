"""The card stands beside its token and inside its pane."""

import math

import pytest
from PySide6.QtCore import QPoint, QRect, QSize
from PySide6.QtGui import QColor, QImage

from app.views.chat_pane import ChatPane
from app.views.transcript import HoveredToken
from engine.contracts import TokenLogprobs, TokenPiece, TopLogprob

PIECE = TokenPiece(7, b" sky", " sky", 0, 4)
MEASURED = TokenLogprobs(
    logprob=math.log(0.5), top=tuple(TopLogprob(n, math.log(0.5) - n / 7, b"x%d" % n) for n in range(12)), rank=7
)
CELL = QSize(40, 18)
SHADOW = 12


def show(pane: ChatPane, corner: QPoint) -> tuple[QRect, QRect]:
    """Cell and card, both in the pane's coordinates; the card without its shadow."""
    viewport = pane.transcript.viewport()
    pane.card.show_token(HoveredToken(PIECE, MEASURED, QRect(corner, CELL)), viewport)
    card = pane.card.geometry().adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)
    return QRect(viewport.mapTo(pane, corner), CELL), card


@pytest.mark.parametrize(("across", "down"), [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.5)])
def test_the_card_stays_in_the_pane_and_leaves_its_token_free(pane: ChatPane, across: float, down: float) -> None:
    viewport = pane.transcript.viewport()
    corner = QPoint(
        round((viewport.width() - CELL.width()) * across), round((viewport.height() - CELL.height()) * down)
    )
    cell, card = show(pane, corner)

    assert pane.rect().contains(card)
    assert not card.intersects(cell)


def test_the_card_stays_in_a_pane_that_has_hardly_room_for_it(pane: ChatPane) -> None:
    window = pane.window()
    window.resize(window.minimumSize())
    pane.card.show_token(HoveredToken(PIECE, MEASURED, QRect(QPoint(100, 60), CELL)), pane.transcript.viewport())
    card = pane.card.geometry().adjusted(SHADOW, SHADOW, -SHADOW, -SHADOW)

    assert card.top() >= 0
    assert card.bottom() - pane.rect().bottom() <= max(0, card.height() - pane.height())


def test_the_chosen_token_is_outlined_and_its_bar_as_long_as_its_probability(pane: ChatPane) -> None:
    show(pane, QPoint(100, 40))
    image = pane.card.grab().toImage()
    theme = pane.transcript.look.theme
    outlined = _rows_with(image, theme.accent)
    bars = _rows_with(image, theme.bar)

    assert outlined
    assert bars
    assert max(bars.values()) < image.width() * 0.6


def _rows_with(image: QImage, colour: QColor) -> dict[int, int]:
    """For each row of a picture, how many of its pixels have a colour; rows without any are left out."""
    columns = range(image.width())
    counts = {y: sum(image.pixelColor(x, y) == colour for x in columns) for y in range(image.height())}
    return {y: count for y, count in counts.items() if count}

"""The cell under the mouse is the right token's, whatever the token is made of."""

import math

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from app.views.transcript import Transcript
from engine.contracts import Role, TokenLogprobs, TokenPiece
from tests.app.views.tokens import cells_on_screen, single_bytes, words

SURE = TokenLogprobs(logprob=math.log(0.9))


def show(transcript: Transcript, pieces: list[TokenPiece]) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", pieces, [SURE] * len(pieces))
    transcript.end_message("answer")
    transcript.show_heat(True)
    transcript.show_arrived()


def move_mouse(transcript: Transcript, point: QPointF) -> None:
    viewport = transcript.viewport()
    event = QMouseEvent(
        QEvent.Type.MouseMove, point, viewport.mapToGlobal(point), Qt.MouseButton.NoButton, Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(viewport, event)


def test_every_token_has_its_cell_in_reading_order(transcript: Transcript) -> None:
    show(transcript, words("The quick brown fox jumps over the lazy dog."))

    assert [cell.token for cell in cells_on_screen(transcript)] == list(range(9))


def test_a_cell_is_as_wide_as_its_text(transcript: Transcript) -> None:
    show(transcript, words("wide i"))
    wide, narrow = (cell.rectangle for cell in cells_on_screen(transcript))

    assert wide.right() == pytest.approx(narrow.left(), abs=0.01)
    assert wide.width() > 1.5 * narrow.width()


@pytest.mark.parametrize("emoji", ["😀", "🦙", "𝄞"])
def test_text_after_an_emoji_keeps_its_own_cell(transcript: Transcript, emoji: str) -> None:
    """Qt counts two units where Python counts one character."""
    show(transcript, words(f"{emoji}{emoji} after it"))
    cells = cells_on_screen(transcript)
    layout = transcript.page.layout(0, 0)

    assert [cell.token for cell in cells] == [0, 1, 2]
    expected = layout.rectangles(2, 8)[0]
    assert cells[1].rectangle.width() == pytest.approx(expected.width())


def test_the_bytes_of_one_character_share_its_glyph_evenly(transcript: Transcript) -> None:
    show(transcript, single_bytes("a😀b"))
    cells = cells_on_screen(transcript)
    glyph = transcript.page.layout(0, 0).rectangles(1, 2)[0]

    assert [cell.token for cell in cells] == [0, 1, 2, 3, 4, 5]
    for cell in cells[1:5]:
        assert cell.rectangle.width() == pytest.approx(glyph.width() / 4)


def test_a_token_that_holds_half_a_character_shares_the_cell_it_ends_in(transcript: Transcript) -> None:
    pieces = [
        TokenPiece(0, b"so \xc3", "so ", 0, 4),
        TokenPiece(1, b"\xa9t", "ét", 3, 5),
        TokenPiece(2, b"!", "!", 5, 6),
    ]
    show(transcript, pieces)

    assert [cell.token for cell in cells_on_screen(transcript)] == [0, 1, 2]


def test_the_parts_of_a_joined_emoji_are_cells_of_one_glyph(transcript: Transcript) -> None:
    show(transcript, single_bytes("👨‍👩‍👧"))
    tokens = {cell.token for cell in cells_on_screen(transcript)}

    assert tokens == set(range(len("👨‍👩‍👧".encode())))


def test_a_line_end_has_a_cell_of_its_own(transcript: Transcript) -> None:
    show(transcript, [TokenPiece(0, b"one", "one", 0, 3), TokenPiece(1, b"\n\n", "\n\n", 3, 5)])

    assert [cell.token for cell in cells_on_screen(transcript)] == [0, 1, 1]


def test_a_special_token_has_a_cell_after_the_answer(transcript: Transcript) -> None:
    show(transcript, [*words("The end"), TokenPiece(2, b"<|im_end|>", "", 7, 7, special=True)])
    cells = cells_on_screen(transcript)

    assert [cell.token for cell in cells] == [0, 1, 2]
    assert cells[2].rectangle.top() > cells[1].rectangle.bottom()


def test_white_space_at_which_a_line_is_broken_has_no_cell_of_its_own(transcript: Transcript) -> None:
    pieces = words("several words that fill more than one line of the column " * 4)
    show(transcript, pieces)
    cells = [cell.token for cell in cells_on_screen(transcript)]

    assert len(list(transcript.page.layout(0, 0).lines)) > 1
    assert cells == list(range(len(pieces)))


def test_hebrew_cells_run_from_right_to_left(transcript: Transcript) -> None:
    show(transcript, words("שלום עולם"))
    first, second = sorted(cells_on_screen(transcript), key=lambda cell: cell.token)

    assert first.rectangle.left() >= second.rectangle.right() - 0.01


def test_hovering_a_token_shows_its_card_and_leaving_hides_it(pane: ChatPane, qtbot: QtBot) -> None:
    show(pane.transcript, words("The quick brown fox"))
    cell = next(cell for cell in cells_on_screen(pane.transcript) if cell.token == 2)
    move_mouse(pane.transcript, cell.rectangle.center())

    assert pane.card.isVisible()
    assert pane.card.summary is not None
    assert (pane.card.summary.label, pane.card.summary.percent) == ("·brown", "90.0 %")
    assert pane.rect().contains(pane.card.geometry().center())

    QApplication.sendEvent(pane.transcript.viewport(), QEvent(QEvent.Type.Leave))
    assert not pane.card.isVisible()


def test_the_card_leaves_with_its_token(pane: ChatPane) -> None:
    show(pane.transcript, words("The quick brown fox\n" * 60))
    move_mouse(pane.transcript, cells_on_screen(pane.transcript)[9].rectangle.center())
    assert pane.card.isVisible()
    pane.transcript.scroll_by(-30)
    assert not pane.card.isVisible()

    pane.transcript.jump_to_end()
    move_mouse(pane.transcript, cells_on_screen(pane.transcript)[9].rectangle.center())
    assert pane.card.isVisible()
    pane.begin_message("next", Role.ASSISTANT, "One more answer moves everything up.")
    pane.transcript.show_arrived()
    assert not pane.card.isVisible()


def test_nothing_is_hovered_while_the_heatmap_is_off(pane: ChatPane) -> None:
    show(pane.transcript, words("The quick brown fox"))
    point = cells_on_screen(pane.transcript)[0].rectangle.center()
    pane.show_heat(False)
    move_mouse(pane.transcript, point)

    assert not pane.card.isVisible()


def test_switching_the_heatmap_lays_nothing_out_and_moves_nothing(
    window: MainWindow, transcript: Transcript, qtbot: QtBot
) -> None:
    show(transcript, words("The quick brown fox\n" * 50))
    layouts, rows = transcript.page.typesetter.layouts_made, transcript.rows
    for shown in (False, True, False):
        window.show_heatmap(shown)
        transcript.viewport().repaint()

    assert transcript.page.typesetter.layouts_made == layouts
    assert transcript.rows == rows


def test_a_cell_is_painted_in_the_colour_of_its_probability(transcript: Transcript) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    pieces = words("iiii iiii")
    logprobs = [TokenLogprobs(logprob=math.log(0.001)), TokenLogprobs(logprob=math.log(0.999))]
    transcript.append_pieces("answer", pieces, logprobs)
    transcript.show_heat(True)
    transcript.show_arrived()
    image = transcript.viewport().grab().toImage()
    colours = [
        image.pixelColor((cell.rectangle.topLeft() + QPointF(2, 1)).toPoint()) for cell in cells_on_screen(transcript)
    ]

    heat = transcript.look.theme.heat
    assert abs(colours[0].blue() - heat[-1].blue()) < 12
    assert abs(colours[1].blue() - heat[0].blue()) < 12

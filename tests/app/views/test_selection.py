"""Text is selected by mouse within and across messages, and copied in reading order."""

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from app.views.menus import act_on_focus
from app.views.transcript import Transcript
from app.views.transcript.selection import word_around
from engine.contracts import Role
from tests.app.views.tokens import words


@pytest.fixture
def talk(transcript: Transcript) -> Transcript:
    transcript.begin_message("question", Role.USER, "Why is the sky 😀 blue?")
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", words("Because of the air.\nIt scatters light."), None)
    transcript.end_message("answer")
    transcript.show_arrived()
    return transcript


def point_of(transcript: Transcript, message: int, offset: int) -> QPoint:
    """Where the gap before a character is on the screen."""
    blocks = transcript.page.messages[message].blocks
    index = blocks.index_at(offset)
    row = next(row for row in transcript.rows if (row.message, row.row) == (message, index + 1))
    inside = transcript.page.layout(message, index).rectangles(offset - blocks[index].start, len(blocks[index].text))[0]
    point = transcript.page.text_origin(row) + inside.topLeft()
    return QPoint(round(point.x()), round(point.y() + inside.height() / 2))


def drag(transcript: Transcript, start: QPoint, end: QPoint) -> None:
    viewport, left, plain = transcript.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(viewport, left, plain, start)
    place = end.toPointF()
    moved = QMouseEvent(QEvent.Type.MouseMove, place, viewport.mapToGlobal(place), Qt.MouseButton.NoButton, left, plain)
    QApplication.sendEvent(viewport, moved)
    QTest.mouseRelease(viewport, left, plain, end)


def test_dragging_selects_what_lies_between(talk: Transcript) -> None:
    drag(talk, point_of(talk, 1, 8), point_of(talk, 1, 15))

    assert talk.selected_text() == "of the "


def test_dragging_past_an_emoji_counts_it_once(talk: Transcript) -> None:
    drag(talk, point_of(talk, 0, 11), point_of(talk, 0, 21))

    assert talk.selected_text() == "sky 😀 blue"


def test_a_selection_reaches_across_lines_and_messages(talk: Transcript) -> None:
    drag(talk, point_of(talk, 0, 17), point_of(talk, 1, 22))

    assert talk.selected_text() == "blue?\n\nBecause of the air.\nIt"


def test_dragging_upwards_selects_in_reading_order(talk: Transcript) -> None:
    drag(talk, point_of(talk, 1, 15), point_of(talk, 1, 8))

    assert talk.selected_text() == "of the "


def test_dragging_beyond_the_edge_scrolls_and_selects_on(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.begin_message("long", Role.USER, "\n".join(f"line {number}" for number in range(200)))
    transcript.show_arrived()
    viewport, left, plain = transcript.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mousePress(viewport, left, plain, viewport.rect().center())
    above = QPointF(viewport.width() / 2, -400)
    moved = QMouseEvent(QEvent.Type.MouseMove, above, viewport.mapToGlobal(above), left, left, plain)
    QApplication.sendEvent(viewport, moved)
    qtbot.waitUntil(lambda: transcript.selected_text().startswith("line 0\n"))
    QTest.mouseRelease(viewport, left, plain)

    assert transcript.rows[0][:2] == (0, 0)


@pytest.mark.qt_log_ignore("This plugin does not support")  # said by the offscreen one, of popups
def test_the_context_menu_offers_what_can_be_done(talk: Transcript) -> None:
    def offered() -> dict[str, bool]:
        place = talk.viewport().rect().center()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, talk.viewport().mapToGlobal(place))
        QApplication.sendEvent(talk.viewport(), event)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        actions = {action.text(): action.isEnabled() for action in menu.actions()}
        menu.close()
        return actions

    assert offered() == {"Copy": False, "Select All": True}
    talk.selectAll()
    assert offered() == {"Copy": True, "Select All": True}


def test_a_double_click_selects_a_word(talk: Transcript) -> None:
    QTest.mouseDClick(
        talk.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, point_of(talk, 1, 9) + QPoint(2, 0)
    )

    assert talk.selected_text() == "of"


def test_the_edit_menu_copies_all_of_the_focused_transcript(talk: Transcript) -> None:
    talk.setFocus()
    act_on_focus("selectAll")
    act_on_focus("copy")

    copied = QGuiApplication.clipboard().text()
    assert copied == "Why is the sky 😀 blue?\n\nBecause of the air.\nIt scatters light."


def test_copying_nothing_leaves_the_clipboard_alone(talk: Transcript) -> None:
    QGuiApplication.clipboard().setText("kept")
    talk.copy()

    assert QGuiApplication.clipboard().text() == "kept"


def test_a_selection_stays_where_it_is_while_text_streams(talk: Transcript) -> None:
    drag(talk, point_of(talk, 1, 8), point_of(talk, 1, 15))
    talk.begin_message("more", Role.ASSISTANT)
    talk.append_pieces("more", words("Another answer."), None)
    talk.show_arrived()

    assert talk.selected_text() == "of the "


@pytest.mark.parametrize(
    ("text", "offset", "word"), [("one two", 4, "two"), ("one two", 3, " "), ("a+=b", 1, "+="), ("", 0, "")]
)
def test_a_word_is_a_run_of_one_kind_of_character(text: str, offset: int, word: str) -> None:
    start, end = word_around(text, offset)

    assert text[start:end] == word

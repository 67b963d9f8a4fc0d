"""The transcript follows the end only while the user is there, and otherwise never moves."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.main_window import MainWindow
from app.views.transcript import Transcript
from engine.contracts import Role
from tests.app.views.tokens import words

LINES = "".join(f"Line {number} of a rather long answer.\n" for number in range(200))


@pytest.fixture
def answering(transcript: Transcript) -> Transcript:
    """A conversation longer than the window, whose last answer is still growing."""
    transcript.begin_message("question", Role.USER, "Tell me a long story.")
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", words(LINES), None)
    transcript.show_arrived()
    return transcript


def grow(transcript: Transcript, text: str = "and more of it\n" * 20) -> None:
    message = transcript.page.messages[-1]
    transcript.append_pieces("answer", words(text, start=message.length), None)
    transcript.show_arrived()


def wheel(transcript: Transcript, pixels: int) -> None:
    viewport = transcript.viewport()
    centre = QPointF(viewport.rect().center())
    event = QWheelEvent(
        centre, viewport.mapToGlobal(centre), QPoint(0, pixels), QPoint(), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.ScrollUpdate, False,
    )  # fmt: skip
    QApplication.sendEvent(viewport, event)


def text_at_top(transcript: Transcript) -> tuple[str, float]:
    row = next(row for row in transcript.rows if transcript.page.is_block(row.message, row.row))
    return transcript.page.messages[row.message].blocks[row.row - 1].text, row.top


def offset_at_top(transcript: Transcript) -> tuple[int, int]:
    """The row at the top, and the first character of its first line that is seen."""
    row = transcript.rows[0]
    return row.row, transcript.page.layout(row.message, row.row - 1).line_start_at(-row.top)[0]


def end_is_visible(transcript: Transcript) -> bool:
    last, message = transcript.rows[-1], transcript.page.messages[-1]
    foot = last.top + last.height
    return last.row == message.row_count - 1 and foot <= transcript.viewport().height() + 1


def test_the_end_is_followed_while_the_user_is_there(answering: Transcript) -> None:
    assert end_is_visible(answering)
    for _ in range(10):
        grow(answering)
        assert end_is_visible(answering)


def test_nothing_moves_while_the_user_reads_further_up(answering: Transcript) -> None:
    wheel(answering, 120)
    before = text_at_top(answering)
    for _ in range(10):
        grow(answering)
    answering.end_message("answer", "stopped")
    answering.show_arrived()

    assert text_at_top(answering) == before


def test_the_jump_control_appears_away_from_the_end_and_leads_back(answering: Transcript) -> None:
    assert not answering.jump.isVisible()
    wheel(answering, 120)
    assert answering.jump.isVisible()

    answering.jump.click()
    assert end_is_visible(answering)
    assert not answering.jump.isVisible()
    grow(answering)
    assert end_is_visible(answering)


def test_scrolling_back_to_the_end_follows_it_again(answering: Transcript) -> None:
    wheel(answering, 120)
    wheel(answering, -400)
    grow(answering)

    assert end_is_visible(answering)


def test_the_users_own_message_brings_the_end_into_view(answering: Transcript) -> None:
    wheel(answering, 900)
    answering.begin_message("next", Role.USER, "And then?")
    answering.show_arrived()

    assert end_is_visible(answering)


def test_every_wheel_step_moves_by_its_pixels_exactly(answering: Transcript) -> None:
    """Although the heights of what nobody has seen are only estimated."""
    for _ in range(150):
        before = {row[:2]: row.top for row in answering.rows}
        wheel(answering, 40)
        moved = [row.top - before[row[:2]] for row in answering.rows if row[:2] in before]
        at_top = answering.rows[0].row == 0 and answering.rows[0].message == 0
        assert at_top or all(step == pytest.approx(40) for step in moved)


def test_the_scroll_bar_leads_to_both_ends(answering: Transcript) -> None:
    bar = answering.verticalScrollBar()
    bar.setValue(bar.minimum())
    assert (answering.rows[0].message, answering.rows[0].row, answering.rows[0].top) == (0, 0, 0.0)

    bar.setValue(bar.maximum())
    assert end_is_visible(answering)


def test_keys_lead_through_the_conversation(answering: Transcript) -> None:
    QTest.keyClick(answering, Qt.Key.Key_Home)
    assert text_at_top(answering)[0] == "Tell me a long story."
    QTest.keyClick(answering, Qt.Key.Key_PageDown)
    assert text_at_top(answering)[0] != "Tell me a long story."
    QTest.keyClick(answering, Qt.Key.Key_End)
    assert end_is_visible(answering)


def test_the_line_at_the_top_stays_there_when_the_window_gets_narrower(
    window: MainWindow, transcript: Transcript, qtbot: QtBot
) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", words("\n".join(f"{n} " + "word " * 150 for n in range(60))), None)
    transcript.show_arrived()
    wheel(transcript, 715)
    row, offset = offset_at_top(transcript)
    assert offset > 0  # in the middle of a paragraph
    width = transcript.viewport().width()
    window.resize(600, window.height())
    qtbot.waitUntil(lambda: transcript.viewport().width() < width)

    assert offset_at_top(transcript)[0] == row
    assert abs(offset_at_top(transcript)[1] - offset) < 100  # no more than a line


def test_the_end_is_followed_again_once_a_larger_window_shows_it(
    window: MainWindow, answering: Transcript, qtbot: QtBot
) -> None:
    wheel(answering, 40)
    window.resize(window.width(), window.height() + 100)
    qtbot.waitUntil(lambda: not answering.jump.isVisible())
    grow(answering)

    assert end_is_visible(answering)


def test_keys_that_mean_nothing_here_are_left_to_others(answering: Transcript) -> None:
    before = text_at_top(answering)
    for key in (Qt.Key.Key_F5, Qt.Key.Key_MediaPlay):
        QTest.keyClick(answering, key)

    assert text_at_top(answering) == before


def test_a_conversation_shorter_than_the_window_starts_at_its_top(transcript: Transcript) -> None:
    transcript.begin_message("question", Role.USER, "Hi")
    transcript.show_arrived()

    assert transcript.rows[0].top == 0
    assert transcript.verticalScrollBar().maximum() == 0

"""What Enter, Escape, pasting and an input method do in the composer."""

import time

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.chat_pane import ChatPane
from app.views.composer import Composer
from app.views.message_edit import MAX_VISIBLE_LINES


@pytest.fixture
def composer(pane: ChatPane) -> Composer:
    return pane.composer


@pytest.fixture
def sent(composer: Composer) -> list[str]:
    sent: list[str] = []
    composer.send_requested.connect(sent.append)
    return sent


def press(composer: Composer, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(composer.edit, key, modifiers)


def compose(composer: Composer, preedit: str, commit: str = "") -> None:
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(composer.edit, event)


def paste(composer: Composer, text: str) -> None:
    mime = QMimeData()
    mime.setText(text)
    composer.edit.insertFromMimeData(mime)


def test_enter_sends_and_empties_the_field(composer: Composer, sent: list[str]) -> None:
    QTest.keyClicks(composer.edit, "hello")
    press(composer, Qt.Key.Key_Return)

    assert sent == ["hello"]
    assert composer.text() == ""


def test_whoever_refuses_a_message_can_show_it_again(composer: Composer) -> None:
    composer.send_requested.connect(composer.show_draft)
    composer.show_draft("hello")
    press(composer, Qt.Key.Key_Return)

    assert composer.text() == "hello"


def test_shift_enter_breaks_the_line(composer: Composer, sent: list[str]) -> None:
    QTest.keyClicks(composer.edit, "a")
    press(composer, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.edit, "b")

    assert sent == []
    assert composer.text() == "a\nb"


@pytest.mark.parametrize("blank", ["", " ", "\n\t \n", "\u00a0\u3000"])
def test_blank_text_is_never_sent(composer: Composer, sent: list[str], blank: str) -> None:
    composer.show_draft(blank)
    press(composer, Qt.Key.Key_Return)
    composer.send.click()

    assert sent == []
    assert not composer.send.isEnabled()


def test_enter_while_composing_neither_sends_nor_breaks_the_line(composer: Composer, sent: list[str]) -> None:
    compose(composer, "にほん")
    press(composer, Qt.Key.Key_Return)

    assert sent == []
    assert composer.edit.toPlainText() == ""


def test_the_enter_that_commits_does_not_send_and_the_next_one_does(composer: Composer, sent: list[str]) -> None:
    compose(composer, "にほん")
    press(composer, Qt.Key.Key_Return)
    compose(composer, "", "日本")
    assert sent == []

    press(composer, Qt.Key.Key_Return)
    assert sent == ["日本"]


def test_an_enter_that_follows_the_commit_at_once_does_not_send(composer: Composer, sent: list[str]) -> None:
    compose(composer, "にほん")
    compose(composer, "", "日本")
    press(composer, Qt.Key.Key_Return)
    assert sent == []

    press(composer, Qt.Key.Key_Return)
    assert sent == ["日本"]


def test_an_enter_some_time_after_a_commit_by_another_key_sends(
    composer: Composer, sent: list[str], qtbot: QtBot
) -> None:
    compose(composer, "にほん")
    compose(composer, "", "日本")
    with qtbot.waitSignal(composer.draft_changed):  # longer than any echo of a key
        pass
    press(composer, Qt.Key.Key_Return)

    assert sent == ["日本"]


def test_send_becomes_stop_while_an_answer_is_under_way(composer: Composer, sent: list[str], qtbot: QtBot) -> None:
    composer.show_draft("next")
    composer.show_generating(True)
    assert (composer.send.isVisible(), composer.stop.isVisible()) == (False, True)

    press(composer, Qt.Key.Key_Return)
    assert (sent, composer.text()) == ([], "next")

    with qtbot.waitSignal(composer.stop_requested):
        press(composer, Qt.Key.Key_Escape)
    with qtbot.waitSignal(composer.stop_requested):
        composer.stop.click()


def test_escape_asks_for_nothing_when_there_is_nothing_to_stop(composer: Composer, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(composer.stop_requested):
        press(composer, Qt.Key.Key_Escape)


def test_the_reason_why_nothing_can_be_sent_is_shown(composer: Composer, sent: list[str]) -> None:
    composer.show_draft("hello")
    composer.show_send_enabled(False, "Choose a model first.")
    press(composer, Qt.Key.Key_Return)

    assert (sent, composer.text()) == ([], "hello")
    assert composer.send.toolTip() == composer.edit.placeholderText() == "Choose a model first."


def test_the_field_grows_with_its_text_and_then_scrolls(composer: Composer) -> None:
    heights = []
    for lines in (1, 3, MAX_VISIBLE_LINES, MAX_VISIBLE_LINES + 5):
        composer.show_draft("\n".join(["line"] * lines))
        heights.append(composer.edit.height())

    assert heights[0] < heights[1] < heights[2] == heights[3]
    composer.show_draft("")
    assert composer.edit.height() == heights[0]


def test_pasting_takes_plain_text_only(composer: Composer) -> None:
    mime = QMimeData()
    mime.setHtml("<b>bold</b>")
    mime.setText("bold")
    composer.edit.insertFromMimeData(mime)

    assert composer.text() == "bold"


@pytest.mark.parametrize(
    "text",
    ["seventy-five characters of text in each of twenty thousand lines, no fewer\n" * 20_000, "x" * 1_500_000],
    ids=["many lines", "one line"],
)
def test_a_long_paste_does_not_freeze(composer: Composer, sent: list[str], text: str) -> None:
    start = time.process_time()
    paste(composer, text)
    QApplication.sendPostedEvents()
    assert time.process_time() - start < 1.0

    start = time.process_time()
    press(composer, Qt.Key.Key_Home)
    press(composer, Qt.Key.Key_A)
    QApplication.sendPostedEvents()
    assert time.process_time() - start < 0.05

    press(composer, Qt.Key.Key_Return)
    assert sent == [f"a\n\n{text}"]


def test_many_short_pastes_never_make_a_line_too_long_to_edit(composer: Composer) -> None:
    for _ in range(10):
        paste(composer, "x" * 1_500)

    assert len(composer.edit.toPlainText()) == 3_000
    assert sum(map(len, composer.pasted.texts)) == 12_000


def test_a_long_paste_stands_beside_the_field_and_can_be_taken_away(composer: Composer) -> None:
    paste(composer, "x" * 200_000)
    assert (composer.edit.toPlainText(), composer.pasted.isVisible()) == ("", True)
    assert composer.send.isEnabled()

    composer.pasted.remove(0)
    assert (composer.text(), composer.pasted.isVisible()) == ("", False)
    assert not composer.send.isEnabled()


def test_a_long_draft_comes_back_as_it_was(composer: Composer) -> None:
    paste(composer, "x" * 200_000)
    QTest.keyClicks(composer.edit, "typed")
    draft = composer.text()
    composer.show_draft(draft)

    assert composer.text() == draft


def test_a_changed_draft_is_told_once_the_user_pauses(composer: Composer, qtbot: QtBot) -> None:
    with qtbot.waitSignal(composer.draft_changed) as told:
        QTest.keyClicks(composer.edit, "hello")

    assert told.args == ["hello"]


def test_a_shown_draft_is_not_told_back(composer: Composer, qtbot: QtBot) -> None:
    composer.show_draft("from the store")

    with qtbot.assertNotEmitted(composer.draft_changed, wait=400):
        pass

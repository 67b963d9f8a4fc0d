"""Tokens are shown with the next frame, and only what is open and visible is laid out."""

import time

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.views.main_window import MainWindow
from app.views.transcript import Transcript
from engine.contracts import Part, Role
from tests.app.views.tokens import words

PARAGRAPHS = "".join(f"Paragraph {number} with some words in it.\n" for number in range(300))


class Repaints(QObject):
    """Counts the paint events of a widget."""

    def __init__(self, watched: QObject) -> None:
        super().__init__()
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.Paint
        return False


def text_of(transcript: Transcript) -> str:
    message = transcript.page.messages[-1]
    return message.blocks.text_between(0, message.length)


def test_tokens_appear_together_with_the_next_frame(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    pieces = words("one two three four five six")
    for piece in pieces:
        transcript.append_pieces("answer", [piece], None)

    qtbot.waitUntil(lambda: text_of(transcript) == "one two three four five six")
    assert transcript.page.typesetter.layouts_made <= 2


def test_there_are_no_more_than_thirty_repaints_in_a_second(transcript: Transcript, qtbot: QtBot) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.show_arrived()
    pieces = iter(words("word " * 2_000))
    repaints = Repaints(transcript.viewport())
    start = time.monotonic()

    def one_more() -> bool:
        transcript.append_pieces("answer", [next(pieces)], None)
        return time.monotonic() - start > 1.0

    qtbot.waitUntil(one_more)
    assert 2 <= repaints.count <= 33


def test_only_the_open_block_is_laid_out_again(transcript: Transcript) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", words(PARAGRAPHS), None)
    transcript.show_arrived()
    before = transcript.page.typesetter.layouts_made
    transcript.append_pieces("answer", words("one more", start=len(PARAGRAPHS)), None)
    transcript.show_arrived()

    assert transcript.page.typesetter.layouts_made - before == 1


def test_opening_a_long_conversation_lays_out_only_what_is_visible(transcript: Transcript) -> None:
    for number in range(500):
        transcript.begin_message(str(number), Role.USER, PARAGRAPHS)
    transcript.show_arrived()

    assert transcript.page.typesetter.layouts_made < 120


def test_a_hidden_tab_lays_nothing_out_and_has_every_token_when_it_is_shown(window: MainWindow, qtbot: QtBot) -> None:
    front, back = window.add_tab("front", "Front"), window.add_tab("back", "Back")
    window.select_tab("front")
    qtbot.waitUntil(front.transcript.isVisible)
    for pane in (back, front):
        pane.begin_message("answer", Role.ASSISTANT)
        for piece in words(PARAGRAPHS):
            pane.append_pieces("answer", [piece], None)
        pane.end_message("answer")
    qtbot.waitUntil(lambda: text_of(front.transcript) == PARAGRAPHS)
    back.transcript.refresh()
    assert back.transcript.page.typesetter.layouts_made == 0
    assert text_of(back.transcript) == ""

    window.select_tab("back")
    assert text_of(back.transcript) == PARAGRAPHS


def test_a_line_of_a_hundred_thousand_characters_does_not_freeze(transcript: Transcript) -> None:
    width = transcript.window().width()
    start = time.process_time()
    transcript.begin_message("solid", Role.USER, "x" * 100_000)
    transcript.show_arrived()
    transcript.viewport().repaint()

    assert time.process_time() - start < 0.2
    assert transcript.window().width() == width


def test_the_cost_of_a_frame_does_not_grow_with_the_answer(transcript: Transcript) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)

    def cost_of_500_tokens() -> float:
        start = time.process_time()
        for _ in range(50):
            begun = transcript.page.messages[-1].length
            transcript.append_pieces("answer", words(" some ten more words\nof an answer that goes on", begun), None)
            transcript.show_arrived()
            transcript.viewport().repaint()
        return time.process_time() - start

    cost_of_500_tokens()
    early = min(cost_of_500_tokens() for _ in range(3))
    transcript.append_pieces("answer", words(PARAGRAPHS * 30, transcript.page.messages[-1].length), None)
    late = min(cost_of_500_tokens() for _ in range(3))

    assert late < early * 2


def test_a_frame_shows_all_that_changed_though_it_paints_no_more(transcript: Transcript) -> None:
    """What is on the screen after many frames is what painting everything anew would give."""
    transcript.begin_message("question", Role.USER, "Hello?")
    transcript.begin_message("answer", Role.ASSISTANT)
    for text in ("One ", "two\n", "\nthree", " four\n"):
        transcript.append_pieces("answer", words(text, start=transcript.page.messages[-1].length), None)
        transcript.show_arrived()
        QApplication.sendPostedEvents()
    transcript.end_message("answer", "stopped")
    transcript.begin_message("next", Role.USER, "Thanks.")
    transcript.show_arrived()
    QApplication.sendPostedEvents()
    shown = transcript.window().backingStore().paintDevice()

    assert isinstance(shown, QImage)
    before = shown.copy()
    transcript.viewport().repaint()
    assert shown == before


def test_thinking_and_answer_stand_apart(transcript: Transcript) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", words("Hm. ", part=Part.THINKING), None)
    transcript.append_pieces("answer", words("Yes.", start=4), None)
    transcript.show_arrived()
    thinking, answer = (row for row in transcript.rows if transcript.page.is_block(row.message, row.row))

    assert transcript.page.text_origin(answer).y() > thinking.top + thinking.height
    assert transcript.page.text_origin(answer).x() < transcript.page.text_origin(thinking).x()


def test_clearing_takes_everything_away_at_once(transcript: Transcript) -> None:
    transcript.begin_message("answer", Role.ASSISTANT)
    transcript.append_pieces("answer", words(PARAGRAPHS), None)
    transcript.show_arrived()
    transcript.clear_messages()
    transcript.viewport().repaint()
    transcript.begin_message("answer", Role.ASSISTANT, "again")
    transcript.show_arrived()

    assert text_of(transcript) == "again"

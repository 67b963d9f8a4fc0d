"""Tabs, menus and closing: the window emits what the user asks for and does nothing else."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from app.views.chat_pane import ChatPane
from app.views.main_window import MainWindow
from app.views.menus import act_on_focus
from app.views.theme import DARK, LIGHT, palette_of
from app.views.themed import IconButton
from engine.contracts import Problem

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def tabs(window: MainWindow) -> MainWindow:
    for tab in ("a", "b", "c"):
        window.add_tab(tab, tab.upper())
    window.select_tab("a")
    window.activateWindow()
    return window


def test_closing_asks_and_waits_to_be_told(window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.quit_requested):
        window.close()
    assert window.isVisible()

    with qtbot.assertNotEmitted(window.quit_requested):
        window.close_for_good()
    assert not window.isVisible()


def test_quit_in_the_menu_asks_too(window: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(window.quit_requested):
        window.menus.quit.trigger()


def test_the_tab_that_the_user_selects_is_told_and_shown(tabs: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tabs.tab_selected) as selected:
        tabs.tabs.bar.setCurrentIndex(2)

    assert selected.args == ["c"]
    assert tabs.current_pane is not None
    assert tabs.current_pane.isVisible()


def test_a_tab_is_known_by_its_key_wherever_it_is_moved(tabs: MainWindow, qtbot: QtBot) -> None:
    tabs.tabs.bar.moveTab(0, 2)
    tabs.show_tab_title("a", "Moved & kept")

    assert tabs.tabs.bar.tabText(2) == "Moved && kept"
    with qtbot.waitSignal(tabs.tab_close_requested) as closing:
        close_button(tabs, 2).click()
    assert closing.args == ["a"]


def test_a_title_is_shown_as_it_is_written(window: MainWindow) -> None:
    window.add_tab("tab", "Salt & pepper")

    assert window.tabs.bar.tabText(0) == "Salt && pepper"
    assert close_button(window, 0).accessibleName() == "Close Salt & pepper"


def test_removing_a_tab_selects_a_neighbour(tabs: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tabs.tab_selected):
        tabs.remove_tab("a")

    assert tabs.tabs.current in {"b", "c"}
    assert tabs.tabs.bar.count() == 2


def test_a_window_without_tabs_asks_for_none_to_be_closed(window: MainWindow, qtbot: QtBot) -> None:
    window.add_tab("only", "Only")
    window.remove_tab("only")

    assert window.current_pane is None
    with qtbot.assertNotEmitted(window.tab_close_requested):
        window.menus.close_tab.trigger()


def test_shortcuts_open_close_and_change_tabs(tabs: MainWindow, qtbot: QtBot) -> None:
    with qtbot.waitSignal(tabs.new_tab_requested):
        QTest.keyClick(tabs, Qt.Key.Key_T, CONTROL)
    with qtbot.waitSignal(tabs.tab_close_requested):
        QTest.keyClick(tabs, Qt.Key.Key_W, CONTROL)
    with qtbot.waitSignal(tabs.tab_selected) as selected:
        tabs.menus.next_tab.trigger()
    assert selected.args == ["b"]
    with qtbot.waitSignal(tabs.tab_selected):
        tabs.menus.previous_tab.trigger()
    with qtbot.waitSignal(tabs.tab_selected) as selected:
        tabs.menus.previous_tab.trigger()
    assert selected.args == ["c"]


def test_the_heatmap_is_switched_by_menu_key_and_button(tabs: MainWindow, qtbot: QtBot) -> None:
    pane = tabs.current_pane
    assert pane is not None
    with qtbot.waitSignal(tabs.heatmap_toggled) as toggled:
        QTest.keyClick(tabs, Qt.Key.Key_H, CONTROL | SHIFT)
    assert toggled.args == [True]
    assert pane.legend.isVisible()
    assert tabs.tabs.heatmap.isChecked()

    with qtbot.waitSignal(tabs.heatmap_toggled) as toggled:
        tabs.tabs.heatmap.click()
    assert toggled.args == [False]
    assert not pane.legend.isVisible()
    assert not tabs.menus.heatmap.isChecked()


def test_showing_the_heatmap_by_program_asks_for_nothing(tabs: MainWindow, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(tabs.heatmap_toggled):
        tabs.show_heatmap(True)

    assert tabs.add_tab("later", "Later").transcript.look.heat_shown


def test_escape_stops_wherever_the_focus_is(pane: ChatPane, qtbot: QtBot) -> None:
    pane.show_generating(True)
    for widget in (pane.transcript, pane.composer.edit, pane.picker):
        with qtbot.waitSignal(pane.stop_requested):
            QTest.keyClick(widget, Qt.Key.Key_Escape)


def test_edit_actions_reach_the_focused_field(pane: ChatPane) -> None:
    pane.show_draft("hello")
    pane.focus_composer()
    seen = []
    for action in ("selectAll", "cut", "paste", "undo", "redo"):
        act_on_focus(action)
        seen.append(pane.composer.edit.toPlainText())

    assert seen == ["hello", "", "hello", "", "hello"]


def test_edit_actions_without_a_field_do_nothing(window: MainWindow) -> None:
    window.setFocus()

    act_on_focus("cut")


def test_a_problem_shows_its_sentence_its_remedy_and_a_way_on(pane: ChatPane, qtbot: QtBot) -> None:
    pane.show_problem(Problem(code="engine_ended", sentence="The engine ended.", remedy="Try again."), "Try again")
    assert (pane.banner.sentence.text(), pane.banner.remedy.text()) == ("The engine ended.", "Try again.")
    with qtbot.waitSignal(pane.remedy_requested):
        pane.banner.button.click()

    pane.show_problem(Problem(code="blank", sentence="There is nothing to send."))
    assert pane.banner.isVisible()
    assert not pane.banner.button.isVisible()
    assert not pane.banner.remedy.isVisible()

    pane.banner.dismiss.click()
    assert not pane.banner.isVisible()


def test_markup_in_a_problem_is_shown_as_it_is(pane: ChatPane) -> None:
    pane.show_problem(Problem(code="x", sentence="<b>no</b> such file"))

    assert pane.banner.sentence.textFormat() == Qt.TextFormat.PlainText


def test_the_window_follows_the_systems_palette(pane: ChatPane, window: MainWindow, qtbot: QtBot) -> None:
    before = QApplication.palette()
    try:
        for theme in (DARK, LIGHT):
            QApplication.setPalette(palette_of(theme))
            qtbot.waitUntil(lambda theme=theme: pane.transcript.look.theme is theme)  # type: ignore[misc]
            assert window.palette().color(QPalette.ColorRole.Window) == theme.chrome
            image = pane.transcript.viewport().grab().toImage()
            assert image.pixelColor(2, 2) == theme.page
    finally:
        QApplication.setPalette(before)


def test_icons_follow_the_systems_palette(pane: ChatPane, window: MainWindow) -> None:
    buttons = [button for button in window.findChildren(IconButton) if button.isEnabled()]
    assert len(buttons) > 3
    before = QApplication.palette()
    try:
        QApplication.setPalette(palette_of(DARK))
        QApplication.sendPostedEvents()
        drawn = [button.icon().pixmap(16, 16).toImage() for button in buttons]
        QApplication.setPalette(palette_of(LIGHT))
        QApplication.sendPostedEvents()
        redrawn = [button.icon().pixmap(16, 16).toImage() for button in buttons]
    finally:
        QApplication.setPalette(before)

    assert all(dark != light for dark, light in zip(drawn, redrawn, strict=True))


def test_every_control_has_a_name(pane: ChatPane, window: MainWindow) -> None:
    pane.show_problem(Problem(code="x", sentence="A problem."), "Remedy")
    pane.composer.pasted.add("x")
    nameless = [
        widget
        for widget in window.findChildren(QWidget)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        and not isinstance(widget, QLineEdit)
        and widget.isVisible()
        and not (widget.accessibleName() or getattr(widget, "text", str)())
    ]

    assert nameless == []


def test_every_control_is_reached_with_the_tab_key(pane: ChatPane, window: MainWindow) -> None:
    pane.show_problem(Problem(code="x", sentence="A problem."), "Remedy")
    pane.show_draft("hello")
    pane.focus_composer()
    reached = set()
    for _ in range(20):
        focused = QApplication.focusWidget()
        assert focused is not None
        reached.add(focused.accessibleName() or focused.objectName())
        QTest.keyClick(focused, Qt.Key.Key_Tab)

    assert {"Message", "Send", "Model", "Conversation", "New tab", "Heatmap", "Tabs", "Dismiss"} <= reached


def test_the_engines_state_is_shown_for_the_whole_window(window: MainWindow) -> None:
    window.show_engine_state("Restarting the engine")

    assert window.tabs.engine_state.text() == "Restarting the engine"


def close_button(window: MainWindow, index: int) -> QToolButton:
    button = window.tabs.bar.tabButton(index, window.tabs.bar.ButtonPosition.RightSide)
    assert isinstance(button, QToolButton)
    return button

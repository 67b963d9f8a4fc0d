"""The window around the tabs."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QAction, QCloseEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QMessageBox, QStackedWidget, QVBoxLayout, QWidget

from app.views.menus import Menus
from app.views.style_sheet import style_sheet
from app.views.tab_strip import TabStrip
from app.views.theme import palette_of, theme_of
from app.views.themed import IconButton

if TYPE_CHECKING:
    from app.views.chat_pane import ChatPane


class MainWindow(QMainWindow):
    """Shows tabs and emits what the user asks for. It closes only when told to, so that work can be wound up first."""

    new_tab_requested = Signal()
    tab_close_requested = Signal(str)
    tab_selected = Signal(str)
    heatmap_toggled = Signal(bool)
    quit_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setWindowTitle("Candor")
        self.resize(1040, 760)
        self.setMinimumSize(480, 420)
        self.tabs = TabStrip()
        self.menus = Menus(self)
        self._panes: dict[str, ChatPane] = {}
        self._stack = QStackedWidget()
        self._may_close = False
        self._lay_out()
        self._connect()
        self._follow_theme()

    def add_tab(self, tab: str, title: str) -> "ChatPane":
        """Add a tab at the end; it is shown once selected, or when it is the only one."""
        # Imported here: a third of the start's time, which the window itself need not wait for.
        from app.views.chat_pane import ChatPane

        pane = self._panes[tab] = ChatPane()
        pane.show_heat(self.menus.heatmap.isChecked())
        self._stack.addWidget(pane)
        self.tabs.add(tab, title)
        return pane

    def remove_tab(self, tab: str) -> None:
        pane = self._panes.pop(tab)
        self.tabs.remove(tab)
        self._stack.removeWidget(pane)
        pane.deleteLater()

    def show_tab_title(self, tab: str, title: str) -> None:
        self.tabs.show_title(tab, title)

    def select_tab(self, tab: str) -> None:
        self.tabs.select(tab)
        self._stack.setCurrentWidget(self._panes[tab])

    def show_heatmap(self, shown: bool) -> None:
        """Colour the tokens in every tab."""
        self.menus.heatmap.setChecked(shown)
        self.tabs.heatmap.setChecked(shown)
        for pane in self._panes.values():
            pane.show_heat(shown)

    def show_engine_state(self, text: str) -> None:
        self.tabs.engine_state.setText(text)

    def close_for_good(self) -> None:
        """Close the window without asking anybody."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.quit_requested.emit()

    def event(self, event: QEvent) -> bool:
        """Qt tells a change of the system's colours here and not to `changeEvent`."""
        if event.type() == QEvent.Type.ApplicationPaletteChange:
            self._follow_theme()
        return super().event(event)

    @property
    def current_pane(self) -> "ChatPane | None":
        """The pane that the user sees, or None without tabs."""
        key = self.tabs.current
        return self._panes.get(key) if key is not None else None

    def _lay_out(self) -> None:
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.tabs)
        layout.addWidget(self._stack, 1)
        self.setCentralWidget(centre)

    def _connect(self) -> None:
        menus, tabs = self.menus, self.tabs
        tabs.new_tab.clicked.connect(self.new_tab_requested)
        tabs.close_requested.connect(self.tab_close_requested)
        tabs.tab_selected.connect(self._show_selected)
        tabs.heatmap.clicked.connect(self._toggle_heatmap)
        menus.new_tab.triggered.connect(self.new_tab_requested)
        menus.close_tab.triggered.connect(self._ask_to_close_current)
        menus.quit.triggered.connect(self.quit_requested)
        menus.heatmap.triggered.connect(self._toggle_heatmap)
        menus.next_tab.triggered.connect(lambda: tabs.step(1))
        menus.previous_tab.triggered.connect(lambda: tabs.step(-1))
        menus.about.triggered.connect(self._show_about)
        self._on_current(menus.write, lambda pane: pane.focus_composer())
        self._on_current(menus.stop, lambda pane: pane.composer.request_stop())
        self._on_current(menus.choose_model, lambda pane: pane.picker.showPopup())
        self._on_current(menus.open_folder, lambda pane: pane.picker.ask_for_folder())
        self._on_current(menus.jump_to_end, lambda pane: pane.transcript.jump_to_end())

    def _on_current(self, action: QAction, act: "Callable[[ChatPane], None]") -> None:
        """Let a menu's action act on the pane that the user sees."""
        action.triggered.connect(lambda: act(self.current_pane) if self.current_pane is not None else None)

    def _show_selected(self, tab: str) -> None:
        if tab in self._panes:
            self._stack.setCurrentWidget(self._panes[tab])
            self.tab_selected.emit(tab)

    def _ask_to_close_current(self) -> None:
        if self.tabs.current is not None:
            self.tab_close_requested.emit(self.tabs.current)

    def _toggle_heatmap(self, shown: bool) -> None:
        self.show_heatmap(shown)
        self.heatmap_toggled.emit(shown)

    def _follow_theme(self) -> None:
        theme = theme_of(QApplication.palette())
        # In this order: a new style sheet gives the palette back that the widget had under the old one.
        self.setStyleSheet(style_sheet(theme))
        self.setPalette(palette_of(theme))
        for button in self.findChildren(IconButton):
            button.redraw()

    def _show_about(self) -> None:
        about = QMessageBox(self)
        about.setWindowTitle("About Candor")
        about.setText("Candor")
        about.setInformativeText("Chat with local models, and see how sure they were of every token.")
        about.open()

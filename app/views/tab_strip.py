"""The row of tabs at the top of the window."""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QTabBar, QWidget

from app.views.themed import IconButton


class TabStrip(QWidget):
    """Tabs that can be moved and closed, a button for a new one, and what belongs to the whole window.

    A tab is known by its key, wherever the user moves it.
    """

    tab_selected = Signal(str)
    close_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("tabStrip")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.bar = QTabBar()
        self.new_tab = IconButton("plus", "New tab", self)
        self.engine_state = QLabel()
        self.heatmap = IconButton("heat", "Heatmap", self)
        self._lay_out()
        self.bar.currentChanged.connect(self._tell_selected)

    def add(self, key: str, title: str) -> None:
        """Add a tab at the end."""
        self.bar.blockSignals(True)
        index = self.bar.addTab("")
        self.bar.setTabData(index, key)
        close = IconButton("close", "Close", self.bar)
        close.setIconSize(QSize(12, 12))
        close.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        close.clicked.connect(lambda: self.close_requested.emit(key))
        self.bar.setTabButton(index, QTabBar.ButtonPosition.RightSide, close)
        self.show_title(key, title)
        self.bar.blockSignals(False)

    def remove(self, key: str) -> None:
        self.bar.removeTab(self.index_of(key))

    def show_title(self, key: str, title: str) -> None:
        index = self.index_of(key)
        self.bar.setTabText(index, title.replace("&", "&&"))
        self.bar.setTabToolTip(index, title)
        close = self.bar.tabButton(index, QTabBar.ButtonPosition.RightSide)
        close.setAccessibleName(f"Close {title}")
        close.setToolTip(f"Close {title}")

    def select(self, key: str) -> None:
        self.bar.setCurrentIndex(self.index_of(key))

    def step(self, by: int) -> None:
        """Select the tab that many places to the right, around the ends."""
        if self.bar.count():
            self.bar.setCurrentIndex((self.bar.currentIndex() + by) % self.bar.count())

    @property
    def current(self) -> str | None:
        key = self.bar.tabData(self.bar.currentIndex())
        return str(key) if key is not None else None

    def index_of(self, key: str) -> int:
        """Where the tab stands now; KeyError when there is none."""
        for index in range(self.bar.count()):
            if self.bar.tabData(index) == key:
                return index
        raise KeyError(key)

    def _lay_out(self) -> None:
        self.bar.setMovable(True)
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.bar.setElideMode(Qt.TextElideMode.ElideRight)
        self.bar.setAccessibleName("Tabs")
        self.bar.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self.engine_state.setObjectName("engineState")
        self.engine_state.setAccessibleName("Engine")
        self.heatmap.setText("Heatmap")
        self.heatmap.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.heatmap.setCheckable(True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 0, 12, 0)
        layout.setSpacing(6)
        layout.addWidget(self.bar)
        layout.addWidget(self.new_tab)
        layout.addStretch(1)
        layout.addWidget(self.engine_state)
        layout.addWidget(self.heatmap)

    def _tell_selected(self, index: int) -> None:
        key = self.bar.tabData(index)
        if key is not None:
            self.tab_selected.emit(key)

"""The list of models that a tab can talk to."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QFont, QPainter, QPaintEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QComboBox, QFileDialog, QSizePolicy, QStyledItemDelegate, QWidget

from app.views.fonts import small_font
from app.views.icons import icon
from app.views.theme import theme_of
from engine.contracts import ModelDescription, ModelSource

_ID_ROLE: Final = Qt.ItemDataRole.UserRole
_OPEN_FOLDER: Final = "\0open folder"
_SECTIONS: Final = {
    ModelSource.STARTER: "Comes with Candor",
    ModelSource.OWN: "Candor's own",
    ModelSource.HUGGING_FACE: "Hugging Face cache",
    ModelSource.FOLDER: "Folders you opened",
}


class ModelPicker(QComboBox):
    """Shows models by where they were found. What cannot be used is listed, disabled, with the reason."""

    model_chosen = Signal(str)
    folder_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelPicker")
        self.setAccessibleName("Model")
        self.setPlaceholderText("Choose a model")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setMaximumWidth(420)
        # Qt's own delegate for combo boxes ignores the style sheet's colour of what cannot be chosen.
        self.setItemDelegate(QStyledItemDelegate(self))
        self._selected: str | None = None
        self.activated.connect(self._choose)
        self.show_models((), None)

    def show_models(self, models: Sequence[ModelDescription], selected: str | None) -> None:
        """List `models` and select the one whose id is `selected`; choosing by program emits nothing."""
        self._selected = selected
        items = QStandardItemModel(self)
        for item in self._items(models):
            items.appendRow(item)
        self.setModel(items)
        self.view().setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self._reselect()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        side = 14
        place = QRect(self.width() - side - 9, (self.height() - side) // 2, side, side)
        icon("chevron", theme_of(self.palette()).dimmed).paint(QPainter(self), place)

    def _items(self, models: Sequence[ModelDescription]) -> Iterable[QStandardItem]:
        order = list(_SECTIONS)
        for source, group in groupby(sorted(models, key=lambda m: order.index(m.source)), key=lambda m: m.source):
            yield _section(_SECTIONS[source])
            yield from map(_model_item, group)
        if models:
            yield _section("")
        yield _choice("Open a folder…", _OPEN_FOLDER)

    def _choose(self, index: int) -> None:
        chosen = self.itemData(index, _ID_ROLE)
        self._reselect()
        if chosen == _OPEN_FOLDER:
            self.ask_for_folder()
        elif chosen is not None and chosen != self._selected:
            self._selected = chosen
            self._reselect()
            self.model_chosen.emit(chosen)

    def _reselect(self) -> None:
        self.setCurrentIndex(self.findData(self._selected, _ID_ROLE) if self._selected is not None else -1)
        self.setToolTip(self._selected or "")

    def ask_for_folder(self) -> None:
        """Let the user point at a model's folder; returns at once."""
        dialog = QFileDialog(self.window(), "Open a model's folder")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.fileSelected.connect(self.folder_chosen)
        dialog.open()


def _section(title: str) -> QStandardItem:
    item = QStandardItem(title)
    item.setFlags(Qt.ItemFlag.NoItemFlags)
    font = small_font(QFont())
    font.setBold(True)
    item.setFont(font)
    item.setSizeHint(QSize(0, 26 if title else 9))
    return item


def _choice(text: str, identity: str) -> QStandardItem:
    item = QStandardItem(text)
    item.setData(identity, _ID_ROLE)
    return item


def _model_item(model: ModelDescription) -> QStandardItem:
    item = _choice(f"{model.name}{_size_text(model)}", model.id)
    item.setToolTip(model.id)
    if model.problem is not None:
        item.setEnabled(False)
        item.setText(f"{model.name}  ·  cannot be used")
        reason = f"{model.problem.sentence} {model.problem.remedy}".strip()
        item.setToolTip(reason)
        item.setData(f"{model.name}, cannot be used: {reason}", Qt.ItemDataRole.AccessibleTextRole)
    return item


def _size_text(model: ModelDescription) -> str:
    if model.weight_bytes is None:
        return ""
    gigabytes = model.weight_bytes / 1e9
    return f"  ·  {gigabytes:.1f} GB" if gigabytes >= 1 else f"  ·  {model.weight_bytes / 1e6:.0f} MB"

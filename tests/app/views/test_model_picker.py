"""The picker lists what can be chosen, and says why the rest cannot."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.views.chat_pane import ChatPane
from app.views.model_picker import ModelPicker
from engine.contracts import ModelDescription, ModelSource, Problem

STARTER = ModelDescription(id="/own/starter", name="Starter", source=ModelSource.STARTER, weight_bytes=98_000_000)
CACHED = ModelDescription(id="/cache/big", name="Big", source=ModelSource.HUGGING_FACE, weight_bytes=2_300_000_000)
BROKEN = ModelDescription(
    id="/opened/broken",
    name="Broken",
    source=ModelSource.FOLDER,
    problem=Problem(code="model_missing", sentence="The folder has no weights.", remedy="Download it again."),
)


@pytest.fixture
def picker(pane: ChatPane) -> ModelPicker:
    pane.show_models([BROKEN, CACHED, STARTER], STARTER.id)
    return pane.picker


def texts(picker: ModelPicker) -> list[str]:
    return [picker.itemText(index) for index in range(picker.count())]


def choose(picker: ModelPicker, index: int) -> None:
    """As the popup does when the user picks an entry."""
    picker.setCurrentIndex(index)
    picker.activated.emit(index)


def test_models_stand_under_where_they_were_found(picker: ModelPicker) -> None:
    assert texts(picker) == [
        "Comes with Candor", "Starter  ·  98 MB", "Hugging Face cache", "Big  ·  2.3 GB",
        "Folders you opened", "Broken  ·  cannot be used", "", "Open a folder…",
    ]  # fmt: skip
    assert picker.currentText() == "Starter  ·  98 MB"


def test_choosing_a_model_is_told_once(picker: ModelPicker, pane: ChatPane, qtbot: QtBot) -> None:
    with qtbot.waitSignal(pane.model_chosen) as chosen:
        choose(picker, picker.findData(CACHED.id))
    assert chosen.args == [CACHED.id]

    with qtbot.assertNotEmitted(pane.model_chosen):
        choose(picker, picker.findData(CACHED.id))


def test_what_cannot_be_used_is_disabled_and_says_why(picker: ModelPicker) -> None:
    index = picker.findData(BROKEN.id)

    assert not picker.model().index(index, 0).flags() & Qt.ItemFlag.ItemIsEnabled
    assert picker.itemData(index, Qt.ItemDataRole.ToolTipRole) == "The folder has no weights. Download it again."


@pytest.mark.qt_log_ignore("This plugin does not support propagateSizeHints")  # said by the offscreen one
def test_opening_a_folder_blocks_nothing_and_keeps_the_choice(
    picker: ModelPicker, pane: ChatPane, qtbot: QtBot
) -> None:
    choose(picker, picker.count() - 1)
    dialog = pane.window().findChild(QFileDialog)
    assert picker.currentText() == "Starter  ·  98 MB"
    assert isinstance(dialog, QFileDialog)

    with qtbot.waitSignal(pane.folder_chosen) as chosen:
        dialog.fileSelected.emit("/some/folder")
    assert chosen.args == ["/some/folder"]
    dialog.reject()


def test_without_a_model_the_picker_asks_for_one(picker: ModelPicker) -> None:
    picker.show_models([CACHED], None)

    assert picker.currentIndex() == -1
    assert picker.placeholderText() == "Choose a model"


def test_showing_models_chooses_none(picker: ModelPicker, pane: ChatPane, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(pane.model_chosen):
        pane.show_models([STARTER, CACHED], CACHED.id)

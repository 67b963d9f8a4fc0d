"""Set-up loses no environment that works."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "packaging" / "prepare.py"


@pytest.fixture
def prepare() -> ModuleType:
    """The script as a module; its folder has the name of an installed package."""
    spec = importlib.util.spec_from_file_location("candor_prepare", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / "old").touch()
    return folder


def test_what_fails_to_be_made_anew_is_put_back(prepare: ModuleType, folder: Path) -> None:
    def make_half() -> None:
        with prepare.set_aside(folder):
            folder.mkdir()
            (folder / "half").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_half()

    assert [path.name for path in folder.iterdir()] == ["old"]
    assert [path.name for path in folder.parent.iterdir()] == [".venv"]


def test_what_is_made_anew_takes_the_place_of_the_old(prepare: ModuleType, folder: Path) -> None:
    with prepare.set_aside(folder):
        folder.mkdir()
        (folder / "new").touch()

    assert [path.name for path in folder.iterdir()] == ["new"]
    assert [path.name for path in folder.parent.iterdir()] == [".venv"]


def test_after_a_run_that_was_killed_the_old_one_is_taken_back(prepare: ModuleType, folder: Path) -> None:
    folder.rename(folder.with_name(".venv.before"))
    folder.mkdir()
    (folder / "half").touch()
    prepare.take_back(folder)

    assert [path.name for path in folder.iterdir()] == ["old"]


def test_another_machine_gets_one_sentence(prepare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare.platform, "machine", lambda: "riscv64")
    with pytest.raises(prepare.SetupError, match="riscv64"):
        prepare.check_machine()


def test_this_machine_is_one_of_those_it_is_made_for(prepare: ModuleType) -> None:
    prepare.check_machine()

"""A staged folder appears whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalog.staging import exclusive, staged_folder


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with staged_folder(target) as stage:
        stage.write("a.txt", [b"one ", memoryview(b"two")])
        assert not target.exists()

    assert (target / "a.txt").read_text() == "one two"
    assert list(tmp_path.iterdir()) == [target]


def interrupted() -> Iterator[bytes]:
    yield b"half"
    raise KeyboardInterrupt


def test_a_block_that_raises_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "old.txt").write_text("old")
    with pytest.raises(KeyboardInterrupt), staged_folder(target) as stage:
        stage.write("new.txt", interrupted())

    assert [path.name for path in target.iterdir()] == ["old.txt"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_folder_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.mkdir()
    (target / "old.txt").write_text("old")
    with staged_folder(target) as stage:
        stage.write("new.txt", [b"new"])

    assert [path.name for path in target.iterdir()] == ["new.txt"]
    assert list(tmp_path.iterdir()) == [target]


def test_stages_of_dead_runs_are_removed_by_the_next(tmp_path: Path) -> None:
    dead = tmp_path / ".model.stage-0123"
    dead.mkdir()
    (dead / "half.txt").write_text("ha")
    other = tmp_path / ".other.stage-0123"
    other.mkdir()
    with exclusive(tmp_path / "model"):
        assert not dead.exists()

    assert other.exists()


def test_new_folders_are_the_owners_alone(tmp_path: Path) -> None:
    with exclusive(tmp_path / "root" / "models" / "model"):
        pass

    assert (tmp_path / "root").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "root" / "models").stat().st_mode & 0o777 == 0o700

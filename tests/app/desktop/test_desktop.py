"""Folders, log and lock are the user's alone."""

import logging
import stat
import subprocess
import sys
from pathlib import Path

from app.desktop.folders import Folders, locate, make_private
from app.desktop.log_file import start_logging, stop_logging
from app.desktop.single_instance import InstanceLock


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def fail() -> None:
    raise ValueError("what the user wrote")


def test_candor_home_moves_everything(tmp_path: Path) -> None:
    folders = locate({"CANDOR_HOME": str(tmp_path / "home")})

    assert {folders.chats.parent, folders.settings.parent, folders.lock.parent} == {tmp_path / "home"}
    assert folders.log.is_relative_to(tmp_path / "home")


def test_without_candor_home_the_platform_says_where() -> None:
    assert locate({}).root.name == "candor"


def test_folders_are_open_to_their_owner_only(tmp_path: Path) -> None:
    folders = Folders(tmp_path / "a" / "b")
    make_private(folders)
    make_private(folders)

    assert (mode(folders.root), mode(folders.log.parent)) == (0o700, 0o700)


def test_the_log_tells_where_an_error_was_but_not_what_it_said(tmp_path: Path) -> None:
    handler = start_logging(tmp_path / "candor.log")
    try:
        fail()
    except ValueError as error:
        logging.getLogger("app.test").info("it failed", exc_info=error)
    stop_logging(handler)

    text = (tmp_path / "candor.log").read_text()
    assert "it failed" in text
    assert "ValueError" in text
    assert "test_desktop.py" in text
    assert "what the user wrote" not in text
    assert mode(tmp_path / "candor.log") == 0o600


def test_a_full_log_starts_a_new_private_file(tmp_path: Path) -> None:
    handler = start_logging(tmp_path / "candor.log")
    for _ in range(1100):
        logging.getLogger("app.test").info("x" * 1000)
    stop_logging(handler)

    assert [mode(path) for path in tmp_path.iterdir()] == [0o600, 0o600]


def test_two_instances_exclude_each_other_until_the_first_lets_go(tmp_path: Path) -> None:
    first = InstanceLock.take(tmp_path / "lock")
    assert first is not None
    assert InstanceLock.take(tmp_path / "lock") is None

    first.release()

    second = InstanceLock.take(tmp_path / "lock")
    assert second is not None
    second.release()


def test_a_killed_instance_holds_no_lock(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from app.desktop.single_instance import InstanceLock;"
        "lock = InstanceLock.take(Path(sys.argv[1])); print(lock is not None, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"True\n"
        assert InstanceLock.take(tmp_path / "lock") is None
        child.kill()
        child.wait()

    lock = InstanceLock.take(tmp_path / "lock")
    assert lock is not None
    lock.release()

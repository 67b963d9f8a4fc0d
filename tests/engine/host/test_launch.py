"""The environment and the last words of an engine process."""

import os
import sys
from pathlib import Path

import pytest

from engine.host.launch import PROJECT_ROOT, environment, launch_engine


def test_the_project_comes_before_the_user_s_own_module_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/users/own")
    assert environment()["PYTHONPATH"] == f"{PROJECT_ROOT}{os.pathsep}/users/own"


def test_without_a_pythonpath_no_empty_entry_stands_for_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert environment()["PYTHONPATH"] == str(PROJECT_ROOT)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux needs another BLAS")
def test_what_the_user_preloads_stays_preloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/users/own.so")
    assert environment()["LD_PRELOAD"].split(":")[-1] == "/users/own.so"


def test_the_last_words_are_the_last_line_that_says_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    engine = launch_engine()
    try:
        while engine.poll() is None:
            pass
        assert engine.last_words().startswith("/bin/sh: ")
        assert "\n" not in engine.last_words()
    finally:
        engine.sock.close()
        engine.close()


def test_an_engine_whose_log_cannot_be_written_starts_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")
    not_a_folder = tmp_path / "home"
    not_a_folder.write_text("")

    engine = launch_engine(not_a_folder / "logs" / "engine.log")
    try:
        while engine.poll() is None:
            pass
        assert engine.poll() == 0
    finally:
        engine.sock.close()
        engine.close()

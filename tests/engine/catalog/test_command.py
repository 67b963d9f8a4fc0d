"""`python -m engine.catalog` says what it does in short lines, and is quick when nothing is to be done."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.catalog.starter import StarterInstallation


def run(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    variables = {**os.environ, "CANDOR_HOME": str(home), **environment}
    return subprocess.run(command, capture_output=True, text=True, env=variables, check=False)


def test_a_problem_is_one_line_and_exit_status_1(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    ended = run(tmp_path / "home", "-m", "engine.catalog")

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert len(ended.stderr.splitlines()) == 1
    assert "Traceback" not in ended.stderr


def test_without_a_network_it_says_so(tmp_path: Path) -> None:
    unreachable = {"PIP_CONFIG_FILE": "/dev/null", "PIP_INDEX_URL": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
    ended = run(tmp_path / "home", "-m", "engine.catalog", **unreachable, PIP_FIND_LINKS="")

    assert ended.returncode == 1
    assert "cannot be reached" in ended.stderr
    assert [path for path in (tmp_path / "home").rglob("*") if path.is_file() and path.suffix != ".lock"] == []


@pytest.mark.starter
def test_with_the_model_in_place_nothing_heavy_is_imported(starter: StarterInstallation) -> None:
    code = (
        "import sys, engine.catalog.__main__ as command; assert command.main([]) == 0;"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'mlx', 'mlx_lm', 'tokenizers', 'numpy'}))"
    )
    ended = run(starter.root, "-c", code)

    assert ended.stdout.splitlines() == ["[]"]

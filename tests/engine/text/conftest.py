"""Models with small tokenizers, one of each family."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from engine.text.model import TextModel
from tests.engine.text.small_tokenizers import FAMILIES, byte_level, load


@pytest.fixture(scope="session", params=FAMILIES, ids=lambda build: build.__name__)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[TextModel, Tokenizer]:
    """A text model with the library's tokenizer it was loaded from."""
    build: Callable[[], Tokenizer] = request.param
    return load(tmp_path_factory.mktemp(build.__name__), build()), build()


@pytest.fixture(scope="session")
def byte_model(tmp_path_factory: pytest.TempPathFactory) -> TextModel:
    return load(tmp_path_factory.mktemp("byte-model"), byte_level())


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    return tmp_path / "model"

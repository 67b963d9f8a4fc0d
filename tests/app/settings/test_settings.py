"""Settings keep what they are given, and what they do not know."""

import json
import stat
from pathlib import Path

import pytest

from app.settings.declarations import ALL, HEATMAP, MODEL_FOLDERS, TEMPERATURE
from app.settings.settings import Settings
from engine.contracts import ProblemError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def test_defaults_apply_until_something_is_chosen(path: Path) -> None:
    settings = Settings(path)

    assert settings[TEMPERATURE] == 0.7
    assert not path.exists()


def test_a_choice_is_there_at_the_next_start(path: Path) -> None:
    settings = Settings(path)
    settings[HEATMAP] = True
    settings[MODEL_FOLDERS] = ("/models/one", "/models/zwei")

    again = Settings(path)
    assert again[HEATMAP] is True
    assert again[MODEL_FOLDERS] == ("/models/one", "/models/zwei")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_unknown_keys_are_kept(path: Path) -> None:
    path.write_text('{"future.setting": {"deep": [1, null]}}')

    Settings(path)[HEATMAP] = True

    assert json.loads(path.read_text()) == {"future.setting": {"deep": [1, None]}, HEATMAP.key: True}


@pytest.mark.parametrize("value", ['"hot"', "null", "[]", "true"])
def test_a_value_of_the_wrong_type_counts_as_not_set(path: Path, value: str) -> None:
    path.write_text(f'{{"{TEMPERATURE.key}": {value}}}')

    assert Settings(path)[TEMPERATURE] == 0.7


@pytest.mark.parametrize("content", [b"\0" * 100, b'{"half": ', b"[1, 2]", b""])
def test_an_unreadable_file_is_set_aside_and_said(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    settings = Settings(path)
    settings[HEATMAP] = True

    assert settings.problem is not None
    assert settings.problem.code == "settings_damaged"
    aside = path.with_suffix(".damaged.json")
    assert str(aside) in settings.problem.sentence
    assert aside.read_bytes() == content


def test_a_choice_that_cannot_be_written_applies_until_the_end(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "missing" / "settings.json")

    with pytest.raises(ProblemError) as refused:
        settings[HEATMAP] = True

    assert refused.value.problem.code == "settings_unwritable"
    assert settings[HEATMAP] is True


def test_every_setting_has_its_own_key_and_a_default_of_its_type(path: Path) -> None:
    settings = Settings(path)

    assert len({setting.key for setting in ALL}) == len(ALL)
    for setting in ALL:
        assert settings[setting] == setting.default
        assert setting.text
        settings[setting] = setting.default

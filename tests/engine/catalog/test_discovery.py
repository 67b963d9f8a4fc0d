"""Every model on the machine is listed once, the starter first, the broken ones with their problem."""

import os
import shutil
import sys
import time
from pathlib import Path

import msgspec
import pytest

from engine.catalog.discovery import list_models
from engine.catalog.starter import StarterInstallation
from engine.contracts import ModelSource
from tests.engine.catalog.model_folders import write_cached_model, write_model

OLD, NEW = "a" * 40, "b" * 40


@pytest.fixture
def home(candor_home: Path) -> Path:
    """Candor's data folder, before anything is installed."""
    return candor_home


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only Hugging Face cache there is."""
    folder = tmp_path / "hugging face" / "hub"
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HUGGINGFACE_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(folder.parent))
    return folder


def names(source: ModelSource, *folders: Path) -> list[str]:
    return [model.name for model in list_models(folders) if model.source is source]


def test_the_starter_is_listed_before_it_is_installed(home: Path) -> None:
    (starter,) = list_models()

    assert starter.source is ModelSource.STARTER
    assert starter.id == str(home / "models" / "smollm2-135m-instruct")
    assert starter.problem is not None
    assert starter.problem.code == "starter_missing"
    assert starter.problem.remedy


def test_a_folder_that_only_looks_like_the_starter_is_not_taken_for_it(home: Path) -> None:
    write_model(home / "models" / "smollm2-135m-instruct")
    (starter,) = list_models()

    assert starter.problem is not None
    assert starter.problem.code == "starter_missing"


@pytest.mark.starter
def test_the_installed_starter_can_be_used(
    starter: StarterInstallation, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_HOME", str(starter.root))
    described = list_models()[0]

    assert described.problem is None
    assert described.family == "llama"
    assert described.context_length == 8192
    assert described.weight_bytes is not None


def test_candors_own_models_are_listed(home: Path) -> None:
    write_model(home / "models" / "imported")
    write_model(home / "models" / ".imported.stage-1")

    assert names(ModelSource.OWN) == ["imported"]


def test_a_cached_repository_is_listed_by_name_with_its_current_snapshot(home: Path, cache: Path) -> None:
    write_cached_model(cache, "someone/Model-4bit", OLD)
    current = write_cached_model(cache, "someone/Model-4bit", NEW, ref=NEW)
    (model,) = (model for model in list_models() if model.source is ModelSource.HUGGING_FACE)

    assert (model.name, model.id) == ("someone/Model-4bit", str(current))
    assert model.problem is None


def test_without_a_reference_the_newest_snapshot_counts(home: Path, cache: Path) -> None:
    current = write_cached_model(cache, "someone/model", NEW)
    other = write_cached_model(cache, "someone/model", OLD)
    os.utime(other, (1, 1))

    assert list_models()[-1].id == str(current)


def test_the_cache_may_be_named_directly(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "elsewhere"))
    write_cached_model(tmp_path / "elsewhere", "someone/model", NEW, ref=NEW)

    assert names(ModelSource.HUGGING_FACE) == ["someone/model"]


def test_a_cached_model_whose_blob_is_gone_is_listed_as_broken(home: Path, cache: Path) -> None:
    snapshot = write_cached_model(cache, "someone/model", NEW, ref=NEW)
    (snapshot / "model.safetensors").resolve().unlink()
    problem = list_models()[-1].problem

    assert problem is not None
    assert problem.code == "shard_missing"


def test_what_else_lies_in_the_cache_is_not_a_model(home: Path, cache: Path) -> None:
    (cache / "datasets--someone--texts" / "snapshots" / NEW).mkdir(parents=True)
    (cache / "models--someone--empty" / "snapshots" / NEW).mkdir(parents=True)
    (cache / "models--someone--nothing").mkdir()
    (cache / "version.txt").write_text("1")

    assert names(ModelSource.HUGGING_FACE) == []


@pytest.mark.parametrize("name", ["x\0y", "x" * 5000, "no text \udcff"])
def test_a_folder_that_cannot_exist_is_named_and_hides_no_other(home: Path, tmp_path: Path, name: str) -> None:
    whole = write_model(tmp_path / "whole")
    _, odd, good = list_models([tmp_path / name, whole])

    assert odd.problem is not None
    assert odd.problem.sentence
    assert (good.id, good.problem) == (str(whole), None)
    assert msgspec.json.encode((odd, good))


def test_one_odd_configuration_hides_no_other_model(home: Path) -> None:
    for name in ("a", "c"):
        write_model(home / "models" / name)
    odd = write_model(home / "models" / "b")
    (odd / "config.json").write_text(r'{"model_type": "\ud800", "max_position_embeddings": 18446744073709551616}')

    assert names(ModelSource.OWN) == ["a", "b", "c"]
    assert msgspec.json.encode(list_models())


def test_a_reference_that_names_nothing_hides_no_other_model(home: Path, cache: Path) -> None:
    write_cached_model(cache, "a/model", OLD, ref=OLD)
    (cache / "models--a--model" / "refs" / "main").write_bytes(b"\xff" * 200)
    write_cached_model(cache, "b/model", NEW, ref=NEW)

    assert names(ModelSource.HUGGING_FACE) == ["a/model", "b/model"]


def test_a_reference_cannot_lead_out_of_the_cache(home: Path, cache: Path, tmp_path: Path) -> None:
    write_model(tmp_path / "outside")
    write_cached_model(cache, "someone/model", NEW, ref=str(tmp_path / "outside"))

    assert [model.id for model in list_models() if "outside" in model.id] == []


def test_an_opened_folder_is_a_model_or_holds_models(home: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "我的 模型"
    write_model(shelf / "two")
    write_model(shelf / "one")
    (shelf / "notes").mkdir()

    assert names(ModelSource.FOLDER, shelf) == ["one", "two"]
    assert names(ModelSource.FOLDER, shelf / "two") == ["two"]


def test_an_opened_folder_without_models_says_so(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    cases = {"empty": "no_model", "absent": "model_unreadable", "x" * 300: "model_unreadable"}

    for name, code in cases.items():
        problem = list_models([tmp_path / name])[-1].problem
        assert problem is not None
        assert problem.code == code
        assert problem.remedy


def test_a_model_reached_two_ways_is_listed_once_where_it_was_found_first(home: Path, tmp_path: Path) -> None:
    own = write_model(home / "models" / "imported")
    other = write_model(tmp_path / "other")
    link = tmp_path / "link"
    link.symlink_to(own)

    assert [Path(model.id).name for model in list_models([other, link, other])[1:]] == ["imported", "other"]


def test_a_read_only_folder_is_no_obstacle(home: Path, tmp_path: Path) -> None:
    folder = write_model(tmp_path / "fixed")
    folder.chmod(0o500)

    assert list_models([folder])[-1].problem is None
    folder.chmod(0o700)


def test_links_in_a_circle_are_no_obstacle(home: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    write_model(shelf / "model")
    (shelf / "circle").symlink_to(shelf / "circle")
    (shelf / "up").symlink_to(shelf)

    assert names(ModelSource.FOLDER, shelf) == ["model"]
    assert list_models([shelf / "circle"])[-1].problem is not None


def test_a_hundred_models_are_listed_quickly(home: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path / "shelf" / "0")
    for number in range(1, 100):
        shutil.copytree(model, tmp_path / "shelf" / str(number))
    began = time.perf_counter()
    found = list_models([tmp_path / "shelf"])

    assert len(found) == 101
    assert time.perf_counter() - began < 2


@pytest.mark.skipif(sys.platform == "darwin", reason="a Mac's file system has no such names")
def test_a_folder_name_that_is_not_text_is_listed_with_the_remedy_and_hides_no_other(
    home: Path, tmp_path: Path
) -> None:
    write_model(tmp_path / "shelf" / "good")
    write_model(tmp_path / "shelf" / os.fsdecode(b"b\xe4d"))
    _, bad, good = list_models([tmp_path / "shelf"])

    assert good.problem is None
    assert bad.problem is not None
    assert bad.problem.code == "name_unreadable"
    assert bad.name == "b\\udce4d"
    msgspec.msgpack.encode(bad)

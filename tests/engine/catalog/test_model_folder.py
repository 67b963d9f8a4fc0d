"""A model folder is described without its weights, and what is wrong with it is said in a line."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.catalog.model_folder import describe_folder
from engine.catalog.safetensors_file import NotSafetensorsError, weight_bytes
from engine.contracts import ModelDescription, ModelSource
from tests.engine.catalog.model_folders import CONFIG, WEIGHT_BYTES, write_model, write_weights

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n"


def described(folder: Path) -> ModelDescription:
    return describe_folder(folder, "a model", ModelSource.FOLDER)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "模型 one")


def test_a_whole_model_is_described_by_its_configuration_and_headers(folder: Path) -> None:
    assert described(folder) == ModelDescription(
        id=str(folder),
        name="a model",
        source=ModelSource.FOLDER,
        family="llama",
        weight_bytes=WEIGHT_BYTES,
        context_length=2048,
    )


def test_the_size_is_the_sum_over_all_shards(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"):
        write_weights(folder / name)

    assert described(folder).weight_bytes == 2 * WEIGHT_BYTES


def test_the_context_length_may_be_that_of_the_text_part(folder: Path) -> None:
    (folder / "config.json").write_text(
        json.dumps({"model_type": "gemma3", "text_config": {"max_position_embeddings": 64}})
    )

    assert described(folder).context_length == 64


@pytest.mark.parametrize("number", ['"many"', "-1", "true", "null", "1e3", str(2**31 + 1), str(2**64)])
def test_a_context_length_that_makes_no_sense_is_unknown_but_blocks_nothing(folder: Path, number: str) -> None:
    (folder / "config.json").write_text(f'{{"model_type": "llama", "max_position_embeddings": {number}}}')

    assert described(folder).context_length is None
    assert described(folder).problem is None


@pytest.mark.parametrize("number", [0, 2**31 + 1, 2**64, 10**400])
def test_a_text_part_of_senseless_length_can_still_cross_the_wire(folder: Path, number: int) -> None:
    (folder / "config.json").write_text(
        json.dumps({"model_type": "gemma3", "text_config": {"max_position_embeddings": number}})
    )

    assert described(folder).context_length is None
    assert msgspec.json.encode(described(folder))


def test_an_architecture_that_is_no_text_is_spelled_out(folder: Path) -> None:
    (folder / "config.json").write_text(r'{"model_type": "a\ud800' + "b" * 1000 + '"}')
    description = described(folder)

    assert description.family is not None
    assert description.family.startswith(r"a\ud800b")
    assert len(description.family) < 120
    assert description.problem is not None
    assert description.problem.code == "architecture_unknown"
    assert msgspec.json.encode(description)


def test_a_configuration_with_infinities_is_read(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "mamba2", "time_step_limit": [0.0, Infinity]}')

    assert described(folder).problem is None


@pytest.mark.parametrize("model_type", ["qwen3", "mistral", "solar_open", "lille-130m"])
def test_types_that_mlx_lm_runs_are_known_also_under_another_name(folder: Path, model_type: str) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))

    assert described(folder).problem is None


def configured(**changes: object) -> Callable[[Path], object]:
    return lambda folder: (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))


def written(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(content)


def removed(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def indexed(folder: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def first_of_three(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00003.safetensors")


def leading_nowhere(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "absent blob")


def cut_short(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])


def as_pipe(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


@pytest.mark.parametrize(
    ("breaking", "code"),
    [
        (removed("config.json"), "config_missing"),
        (written("config.json", "{"), "config_damaged"),
        (written("config.json", LFS_POINTER), "config_damaged"),
        (written("config.json", "[" * 100_000), "config_damaged"),
        (as_pipe, "config_damaged"),
        (configured(model_type=7), "config_damaged"),
        (configured(model_type=None), "architecture_unknown"),
        (configured(model_type="whisper"), "architecture_unknown"),
        (configured(model_type="cache"), "architecture_unknown"),
        (configured(model_type="../utils"), "architecture_unknown"),
        (configured(model_file="run_me.py"), "architecture_unknown"),
        (removed("model.safetensors"), "weights_missing"),
        (written("model.safetensors", LFS_POINTER), "weights_damaged"),
        (written("model.safetensors", ""), "weights_damaged"),
        (written("model.safetensors", "\x02\0\0\0\0\0\0\0[]"), "weights_damaged"),
        (cut_short, "weights_damaged"),
        (indexed, "shard_missing"),
        (first_of_three, "shard_missing"),
        (leading_nowhere, "shard_missing"),
        (removed("tokenizer.json"), "tokenizer_missing"),
    ],
)
def test_each_kind_of_damage_has_its_line_with_a_remedy(
    folder: Path, breaking: Callable[[Path], object], code: str
) -> None:
    breaking(folder)
    problem = described(folder).problem

    assert problem is not None
    assert problem.code == code
    assert problem.sentence.endswith(".")
    assert "\n" not in problem.sentence + problem.remedy
    assert problem.remedy


def test_a_pointer_instead_of_weights_is_called_so(folder: Path) -> None:
    (folder / "model.safetensors").write_text(LFS_POINTER)
    problem = described(folder).problem

    assert problem is not None
    assert "Git LFS pointer" in problem.sentence


def test_a_folder_that_cannot_be_looked_at_is_unreadable(tmp_path: Path) -> None:
    problem = described(tmp_path / ("long" * 100)).problem

    assert problem is not None
    assert problem.code == "model_unreadable"


def test_a_shard_outside_the_folder_does_not_count(folder: Path, tmp_path: Path) -> None:
    write_weights(tmp_path / "outside.safetensors")
    index = {"weight_map": {"a": "../outside.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    problem = described(folder).problem

    assert problem is not None
    assert problem.code == "shard_missing"


def test_describing_imports_no_model_library() -> None:
    code = (
        "import sys, engine.catalog.discovery as d; d.list_models();"
        "sys.exit(any(name.split('.')[0] in {'mlx', 'mlx_lm', 'transformers', 'tokenizers'} for name in sys.modules))"
    )

    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0


def test_the_size_agrees_with_a_file_mlx_wrote(tmp_path: Path) -> None:
    arrays = {"x": mx.zeros((3, 5)), "y": mx.zeros((7,), dtype=mx.float16)}
    mx.save_safetensors(str(tmp_path / "model.safetensors"), arrays)

    assert weight_bytes(tmp_path / "model.safetensors") == 3 * 5 * 4 + 7 * 2


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 160), st.binary(min_size=1, max_size=9))
def test_a_damaged_file_of_weights_gives_a_declared_error_or_a_size(tmp_path: Path, at: int, noise: bytes) -> None:
    path = write_weights(tmp_path / "model.safetensors")
    content = path.read_bytes()
    path.write_bytes(content[:at] + noise + content[at + len(noise) :])
    try:
        size = weight_bytes(path)
    except NotSafetensorsError:
        return
    assert 0 <= size <= path.stat().st_size

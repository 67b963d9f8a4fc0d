"""What is loaded from a folder, and what each kind of damage is called."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlx.core as mx
import msgspec
import pytest
from mlx.utils import tree_flatten

from engine.backend.architecture import SAME_ARCHITECTURE
from engine.backend.loading import check_forward, load_model
from engine.contracts import ProblemError, SamplingSettings
from tests.engine.backend.driving import greedy_reference
from tests.engine.backend.tiny import CONFIGS, CONTEXT, VOCABULARY, tiny_model

WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole llama in a folder."""
    network: Any = tiny_model().model
    mx.save_safetensors(str(tmp_path / WEIGHTS), dict(tree_flatten(network.parameters())))
    write_config(tmp_path, CONFIGS["llama"])
    return tmp_path


def write_config(folder: Path, config: object) -> None:
    (folder / "config.json").write_text(json.dumps(config))


def problem_of(folder: Path) -> str:
    with pytest.raises(ProblemError) as refusal:
        load_model(folder)
    return refusal.value.problem.code


def test_a_folder_becomes_the_model_it_holds(folder: Path) -> None:
    loaded = load_model(folder)

    assert greedy_reference(loaded, [5, 9, 3], 20) == greedy_reference(tiny_model(), [5, 9, 3], 20)
    assert (loaded.vocabulary_size, loaded.context_length) == (VOCABULARY, CONTEXT)
    weights: Any = tree_flatten(network_of(loaded).parameters())
    assert loaded.weight_bytes == sum(value.nbytes for _, value in weights)


def network_of(loaded: Any) -> Any:
    return loaded.model


def test_a_quantised_model_is_loaded_with_each_layers_own_numbers(tmp_path: Path) -> None:
    from mlx.nn.layers.quantized import quantize

    network: Any = tiny_model().model
    quantize(network, 32, 4, class_predicate=lambda path, layer: hasattr(layer, "to_quantized") and "embed" not in path)
    quantize(network, 64, 8, class_predicate=lambda path, layer: path == "model.embed_tokens")
    mx.save_safetensors(str(tmp_path / WEIGHTS), dict(tree_flatten(network.parameters())))
    write_config(tmp_path, {**CONFIGS["llama"], "quantization": {"group_size": 32, "bits": 4}})

    loaded = network_of(load_model(tmp_path))

    ids = mx.array([[1, 2, 3]])
    assert mx.array_equal(loaded(ids), network(ids)).item()
    assert (loaded.model.embed_tokens.bits, loaded.model.layers[0].mlp.up_proj.bits) == (8, 4)


def test_the_models_own_recommendations_are_read(folder: Path) -> None:
    (folder / "generation_config.json").write_text('{"temperature": 0.6, "top_k": 20, "top_p": "odd"}')

    defaults = load_model(folder).sampling_defaults

    assert (defaults.temperature, defaults.top_k, defaults.top_p) == (0.6, 20, 1.0)


def test_a_damaged_recommendation_is_no_reason_not_to_load(folder: Path) -> None:
    (folder / "generation_config.json").write_text("{")

    assert load_model(folder).sampling_defaults.temperature == 1.0


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"top_k": Infinity}', '{"top_k": 18446744073709551616}', '{"temperature": NaN}', '{"top_p": -3}'],
    ids=range(5),
)
def test_recommendations_without_a_meaning_recommend_nothing(folder: Path, content: str) -> None:
    (folder / "generation_config.json").write_text(content)

    assert load_model(folder).sampling_defaults == SamplingSettings()


def cut_off(folder: Path) -> None:
    weights = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(weights[:-10])


def longer(folder: Path) -> None:
    with (folder / WEIGHTS).open("ab") as file:
        file.write(b"x")


def no_header(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(b"\xff" * 5)


def senseless_header(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes((4).to_bytes(8, "little") + b"[{}]")


def senseless_offsets(folder: Path) -> None:
    header = b'{"a": {"data_offsets": ["x", "y"]}}'
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)


def nested_header(folder: Path) -> None:
    header = b"[" * 100_000
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)


def nested_config(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"[" * 100_000)


def other_shapes(folder: Path) -> None:
    write_config(folder, {**CONFIGS["llama"], "hidden_size": 32})


def no_numbers(folder: Path) -> None:
    write_config(folder, {"model_type": "llama"})


def broken_config(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"{\xff")


def list_config(folder: Path) -> None:
    write_config(folder, [1])


def index_out_of_folder(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../model.safetensors"}}')


@pytest.mark.parametrize(
    "damage",
    [
        cut_off,
        longer,
        no_header,
        senseless_header,
        senseless_offsets,
        nested_header,
        nested_config,
        other_shapes,
        no_numbers,
        broken_config,
        list_config,
        index_out_of_folder,
    ],
)
def test_damage_is_found_before_anything_is_computed(folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder)

    assert problem_of(folder) == "model_damaged"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("num_hidden_layers", 1_000_000),
        ("num_hidden_layers", 1e300),
        ("num_hidden_layers", math.inf),
        ("num_hidden_layers", 3),
        ("num_hidden_layers", 1),
        ("num_hidden_layers", -1),
        ("num_hidden_layers", 0),
        ("hidden_size", 2**40),
        ("hidden_size", 2**70),
        ("hidden_size", 0),
        ("vocab_size", 2**62),
        ("intermediate_size", 2**31),
        ("num_attention_heads", 0),
        ("num_attention_heads", 2**33),
        ("num_attention_heads", "four"),
        ("num_key_value_heads", 0),
        ("head_dim", 2**33),
        ("rms_norm_eps", []),
        ("rope_scaling", {"rope_type": "no such"}),
        ("rope_scaling", {"rope_type": "llama3", "factor": "x"}),
        ("rope_scaling", {"rope_type": "linear", "factor": 0}),
        ("quantization", {}),
        ("layer_types", [1]),
        ("num_hidden_layers", "\ud800\n" * 500),
    ],
)
def test_senseless_numbers_are_refused_at_once_in_one_short_line(folder: Path, name: str, number: object) -> None:
    write_config(folder, {**CONFIGS["llama"], name: number})
    begin = time.monotonic()
    with pytest.raises(ProblemError) as refusal:
        check_forward(load_model(folder))

    problem = refusal.value.problem
    assert problem.code == "model_damaged"
    assert str(folder / "config.json") in problem.sentence
    assert problem.sentence.isprintable()
    assert len(problem.sentence) < len(str(folder)) + 250
    assert msgspec.json.encode(problem)
    assert time.monotonic() - begin < 2


def test_a_text_model_nested_in_another_is_bounded_too(folder: Path) -> None:
    text = {**CONFIGS["llama"], "num_hidden_layers": 1_000_000}
    write_config(folder, {"model_type": "llama4", "text_config": text})

    assert problem_of(folder) == "model_damaged"


@pytest.mark.parametrize("length", [0, -1, 2**31 + 1, 2**64, True, "long", 1e6])
def test_a_context_of_senseless_length_counts_as_not_told(folder: Path, length: object) -> None:
    write_config(folder, {**CONFIGS["llama"], "max_position_embeddings": length})

    assert load_model(folder).context_length == 4096


@pytest.mark.parametrize("change", [{"rope_theta": "a"}, {"rope_theta": 0.0}, {"rms_norm_eps": math.nan}])
def test_a_config_whose_faults_only_computing_shows_is_refused_before_the_first_question(
    folder: Path, change: dict[str, Any]
) -> None:
    write_config(folder, {**CONFIGS["llama"], **change})

    with pytest.raises(ProblemError, match=r"config\.json is damaged"):
        check_forward(load_model(folder))


@pytest.mark.parametrize("poison", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_refused(folder: Path, poison: float) -> None:
    weights: Any = mx.load(str(folder / WEIGHTS))
    mx.save_safetensors(str(folder / WEIGHTS), {**weights, "model.norm.weight": mx.full((64,), poison)})

    with pytest.raises(ProblemError, match="no numbers"):
        check_forward(load_model(folder))


@pytest.mark.parametrize("family", CONFIGS)
def test_a_whole_model_of_every_family_passes(family: str) -> None:
    check_forward(tiny_model(family))


def test_a_folder_without_a_config_or_weights_holds_no_model(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    assert problem_of(folder) == "model_missing"

    (folder / "config.json").unlink()
    assert problem_of(folder) == "model_missing"


def test_a_file_that_the_index_names_must_be_there(folder: Path) -> None:
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-00002-of-2.safetensors"}}')

    assert problem_of(folder) == "model_missing"


@pytest.mark.parametrize("model_type", ["no_such_model", "cache", "../llama", "os", None, 7])
def test_an_architecture_that_nobody_knows_is_said_to_be_unknown(folder: Path, model_type: object) -> None:
    write_config(folder, {**CONFIGS["llama"], "model_type": model_type})

    assert problem_of(folder) == "architecture_unknown"


def test_code_in_the_folder_is_never_run(folder: Path) -> None:
    (folder / "own.py").write_text("raise SystemExit('ran')")
    write_config(folder, {**CONFIGS["llama"], "model_file": "own.py"})

    assert problem_of(folder) == "architecture_unknown"


def test_the_names_for_the_same_architecture_are_mlx_lms() -> None:
    """In a process of its own: importing that module takes seconds, and transformers with it."""
    script = "import json; from mlx_lm.utils import MODEL_REMAPPING as m; print('|' + json.dumps(m))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert json.loads(output.rpartition("|")[2]) == SAME_ARCHITECTURE


def test_loading_imports_neither_transformers_nor_the_hub() -> None:
    script = (
        "import sys, engine.backend.group, engine.backend.loading;"
        "from engine.sampling.mlx_lm_parts import import_part; import_part('models.llama');"
        "print([name for name in ('transformers', 'huggingface_hub') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert output.strip() == "[]"

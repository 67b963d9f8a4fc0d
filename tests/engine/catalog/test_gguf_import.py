"""A GGUF file becomes a folder that mlx-lm loads, or is refused in a sentence."""

import contextlib
import json
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlx_lm.utils import load

from engine.catalog.gguf_import import GgufConversion
from engine.catalog.gguf_weights import WeightForm
from engine.catalog.staging import staged_folder
from engine.contracts import ProblemError
from tests.engine.catalog.tiny_gguf import HIDDEN, TEMPLATE, TOKENS, write_tiny_gguf


def convert(source: Path, target: Path, form: WeightForm = WeightForm.FLOAT32) -> Path:
    with staged_folder(target) as stage:
        GgufConversion(source, form).write_to(stage, lambda *_: None)
    return target


def problem_of(path: Path) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        GgufConversion(path, WeightForm.FLOAT32)
    return caught.value


def config_of(folder: Path) -> dict[str, Any]:
    config = json.loads((folder / "config.json").read_text())
    assert isinstance(config, dict)
    return config


def test_every_number_of_the_configuration_comes_from_the_metadata(tiny_gguf: Path, tmp_path: Path) -> None:
    config = config_of(convert(tiny_gguf, tmp_path / "model"))

    assert config == {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "intermediate_size": 96,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "rms_norm_eps": float(np.float32(1e-5)),
        "vocab_size": len(TOKENS),
        "max_position_embeddings": 128,
        "rope_theta": 5000.0,
        "rope_traditional": True,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "bos_token_id": 1,
        "eos_token_id": [2],
    }


def test_packed_weights_are_announced_with_the_bits_of_the_embedding_apart(tiny_gguf: Path, tmp_path: Path) -> None:
    config = config_of(convert(tiny_gguf, tmp_path / "model", WeightForm.HALF))

    assert config["quantization"] == {
        "group_size": 32,
        "bits": 4,
        "model.embed_tokens": {"group_size": 32, "bits": 8},
    }


def test_both_forms_compute_the_same(tiny_gguf: Path, tmp_path: Path) -> None:
    prompt = mx.array([[5, 60, 7, 100, 33, 9]])
    logits = []
    for form in WeightForm:
        model, _ = load(str(convert(tiny_gguf, tmp_path / form, form)))
        model.set_dtype(mx.float32)  # half precision is emulated, slowly, on a CPU
        logits.append(np.array(model(prompt)))

    assert len(set(logits[0].argmax(-1).flatten().tolist())) > 1
    # The norms' weights are rounded to half precision in one of them.
    np.testing.assert_allclose(logits[0], logits[1], rtol=0.02, atol=0.05)


def test_the_template_and_the_end_of_turn_reach_mlx_lm(tiny_gguf: Path, tmp_path: Path) -> None:
    _, tokenizer = load(str(convert(tiny_gguf, tmp_path / "model")))

    assert tokenizer.chat_template == TEMPLATE
    assert tokenizer.eos_token_ids == {2}
    ids = tokenizer.apply_chat_template([{"role": "user", "content": "hello"}])
    assert ids == [1, TOKENS.index("hello"), 2]


def test_an_output_of_its_own_is_not_tied(tmp_path: Path) -> None:
    def add_output(writer: gguf.GGUFWriter) -> None:
        writer.add_tensor("output.weight", np.ones((len(TOKENS), HIDDEN), np.float32))

    source = write_tiny_gguf(tmp_path / "tiny.gguf", edit=add_output)
    folder = convert(source, tmp_path / "model")

    assert config_of(folder)["tie_word_embeddings"] is False
    assert "lm_head.weight" in mx.load(str(folder / "model.safetensors"))


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"general.architecture": "mamba"}, "architecture mamba"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer of kind llama"),
        ({"tokenizer.ggml.pre": "tekken"}, "splitting rule tekken"),
        ({"llama.expert_count": 8}, "mixture of experts"),
        ({"llama.rope.dimension_count": 8}, "part of each head"),
        ({"llama.rope.scaling.type": "yarn"}, "kind yarn"),
    ],
)
def test_what_cannot_be_converted_is_refused_by_name(tmp_path: Path, metadata: dict[str, Any], named: str) -> None:
    problem = problem_of(write_tiny_gguf(tmp_path / "tiny.gguf", metadata=metadata)).problem

    assert problem.code == "model_unsupported"
    assert named in problem.sentence


@pytest.mark.parametrize(
    "metadata",
    [
        {"llama.block_count": 4_000_000_000},
        {"llama.block_count": 1.5},
        {"llama.embedding_length": 0},
        {"llama.embedding_length": None},
        {"llama.attention.head_count": 3},
        {"llama.attention.layer_norm_rms_epsilon": float("nan")},
        {"tokenizer.ggml.eos_token_id": 100_000},
        {"tokenizer.ggml.merges": ["h e", "nobody knows"]},
        {"tokenizer.ggml.tokens": TOKENS[:-1]},
        {"tokenizer.ggml.tokens": [*TOKENS[:-1], "!"]},
        {"tokenizer.ggml.token_type": [1, 1, 1]},
        {"tokenizer.ggml.token_type": None},
    ],
)
def test_metadata_that_contradicts_itself_is_damaged(tmp_path: Path, metadata: dict[str, Any]) -> None:
    assert problem_of(write_tiny_gguf(tmp_path / "tiny.gguf", metadata=metadata)).problem.code == "model_damaged"


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", without=frozenset({"blk.1.attn_k.weight"}))

    assert "blk.1.attn_k.weight" in problem_of(source).problem.sentence


def test_a_tensor_without_a_place_is_refused(tmp_path: Path) -> None:
    def add_frequencies(writer: gguf.GGUFWriter) -> None:
        writer.add_tensor("rope_freqs.weight", np.ones(8, np.float32))

    problem = problem_of(write_tiny_gguf(tmp_path / "tiny.gguf", edit=add_frequencies)).problem

    assert problem.code == "model_unsupported"
    assert "rope_freqs.weight" in problem.sentence


def test_progress_ends_with_every_byte_written(tiny_gguf: Path, tmp_path: Path) -> None:
    conversion = GgufConversion(tiny_gguf, WeightForm.FLOAT32)
    told: list[tuple[int, int]] = []
    with staged_folder(tmp_path / "model") as stage:
        conversion.write_to(stage, lambda *numbers: told.append(numbers))

    assert told == sorted(told)
    assert told[-1] == (conversion.weight_bytes, conversion.weight_bytes)


def test_a_dense_half_precision_file_stays_unquantised(tmp_path: Path) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=Kind.F16, embedding=Kind.F16)
    config = config_of(convert(source, tmp_path / "model", WeightForm.HALF))

    assert "quantization" not in config


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 12_000), st.binary(min_size=1, max_size=4))
def test_a_damaged_file_is_refused_or_converted(tiny_gguf: Path, tmp_path: Path, at: int, noise: bytes) -> None:
    content = tiny_gguf.read_bytes()
    source = tmp_path / "mutated.gguf"
    source.write_bytes(content[:at] + noise + content[at + len(noise) :])
    with contextlib.suppress(ProblemError):
        assert config_of(convert(source, tmp_path / "model"))

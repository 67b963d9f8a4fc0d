"""Weights in a converted folder equal what an independent reader finds in the GGUF file."""

import filecmp
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

from engine.catalog.gguf_import import WEIGHTS_FILE, GgufConversion
from engine.catalog.gguf_weights import WeightForm, form_for_this_machine
from engine.catalog.staging import staged_folder
from engine.catalog.starter import StarterInstallation
from tests.engine.catalog.tiny_gguf import write_tiny_gguf

Weights = Mapping[str, Any]

MLX_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def independent_weights(path: Path) -> Weights:
    """float32 weights of every tensor, read by the `gguf` package, under mlx-lm's names without their last part."""
    return dict(_read_independently(path))


def _read_independently(path: Path) -> Iterator[tuple[str, Any]]:
    for tensor in gguf.GGUFReader(path).tensors:
        *layer, part, _ = tensor.name.replace("blk.", "model.layers.").rsplit(".", 2)
        name = ".".join([*layer, MLX_NAMES[part]])
        yield name, gguf.quants.dequantize(tensor.data, tensor.tensor_type)


def converted(source: Path, target: Path, form: WeightForm) -> dict[str, mx.array]:
    with staged_folder(target) as stage:
        GgufConversion(source, form).write_to(stage, lambda *_: None)
    weights = mx.load(str(target / WEIGHTS_FILE))
    assert isinstance(weights, dict)
    return weights


def assert_dense_weights_are(independent: Weights, weights: dict[str, mx.array]) -> None:
    assert set(weights) == {f"{name}.weight" for name in independent}
    for name, expected in independent.items():
        kept = weights[f"{name}.weight"]
        assert kept.dtype == mx.float32
        np.testing.assert_array_equal(np.array(kept), expected, err_msg=name)


@pytest.mark.parametrize("kind", [Kind.F32, Kind.F16, Kind.BF16, Kind.Q4_0, Kind.Q4_1, Kind.Q8_0])
def test_dense_weights_are_exactly_those_of_the_file(tmp_path: Path, kind: Kind) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=kind, embedding=kind)

    assert_dense_weights_are(independent_weights(source), converted(source, tmp_path / "model", WeightForm.FLOAT32))


def assert_packed_weights_mean(independent: Weights, weights: dict[str, mx.array], bits: int) -> None:
    """Packed weights unpack to the independent ones, exactly; what is not packed is rounded to half precision."""
    for name, expected in independent.items():
        kept = weights[f"{name}.weight"]
        if f"{name}.scales" not in weights:
            np.testing.assert_array_equal(np.array(kept), expected.astype(np.float16), err_msg=name)
            continue
        own_bits = kept.shape[-1] * 32 // expected.shape[-1]
        assert own_bits == (8 if name == "model.embed_tokens" else bits)
        scales, biases = (weights[f"{name}.{part}"].astype(mx.float32) for part in ("scales", "biases"))
        unpacked = mx.dequantize(kept, scales, biases, group_size=32, bits=own_bits)
        np.testing.assert_array_equal(np.array(unpacked), expected, err_msg=name)


@pytest.mark.parametrize(("kind", "bits"), [(Kind.Q4_0, 4), (Kind.Q4_1, 4), (Kind.Q8_0, 8)])
def test_packed_weights_mean_exactly_those_of_the_file(tmp_path: Path, kind: Kind, bits: int) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=kind)
    weights = converted(source, tmp_path / "model", WeightForm.HALF)

    assert_packed_weights_mean(independent_weights(source), weights, bits)


def test_half_precision_keeps_bfloat16(tmp_path: Path) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=Kind.BF16, embedding=Kind.BF16)
    weights = converted(source, tmp_path / "model", WeightForm.HALF)

    assert weights["model.embed_tokens.weight"].dtype == mx.bfloat16


@pytest.fixture(scope="module")
def starter_weights(starter_file: Path) -> Weights:
    return independent_weights(starter_file)


@pytest.mark.starter
def test_every_dense_weight_of_the_starter_file_is_kept_exactly(
    starter_file: Path, starter_weights: Weights, tmp_path: Path
) -> None:
    assert_dense_weights_are(starter_weights, converted(starter_file, tmp_path / "model", WeightForm.FLOAT32))


@pytest.mark.starter
def test_every_packed_weight_of_the_starter_file_is_kept_exactly(
    starter_file: Path, starter_weights: Weights, tmp_path: Path
) -> None:
    assert_packed_weights_mean(starter_weights, converted(starter_file, tmp_path / "model", WeightForm.HALF), 4)


@pytest.mark.starter
def test_the_installed_starter_model_is_the_conversion_for_this_machine(
    starter: StarterInstallation, starter_file: Path, tmp_path: Path
) -> None:
    """A converter that writes other bytes than before needs a new version, so that old folders are made again."""
    converted(starter_file, tmp_path / "model", form_for_this_machine())

    assert filecmp.cmp(starter.folder / WEIGHTS_FILE, tmp_path / "model" / WEIGHTS_FILE, shallow=False)

"""Weights in a converted folder equal what an independent reader finds in the GGUF file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

from engine.catalog.gguf_import import WEIGHTS_FILE, GgufConversion
from engine.catalog.gguf_weights import WeightForm
from engine.catalog.staging import staged_folder
from engine.catalog.starter import StarterInstallation
from tests.engine.catalog.tiny_gguf import write_tiny_gguf

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


def independent_weights(path: Path) -> Iterator[tuple[str, Any]]:
    """mlx-lm's name, without the last part, and the float32 weights of every tensor, read by the `gguf` package."""
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


KINDS = [Kind.F32, Kind.F16, Kind.BF16, Kind.Q4_0, Kind.Q4_1, Kind.Q8_0]


@pytest.mark.parametrize("kind", KINDS)
def test_dense_weights_are_exactly_those_of_the_file(tmp_path: Path, kind: Kind) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=kind, embedding=kind)
    weights = converted(source, tmp_path / "model", WeightForm.FLOAT32)

    names = set()
    for name, expected in independent_weights(source):
        names.add(f"{name}.weight")
        kept = weights[f"{name}.weight"]
        assert kept.dtype == mx.float32
        np.testing.assert_array_equal(np.array(kept), expected, err_msg=name)
    assert names == set(weights)


@pytest.mark.parametrize("kind", [Kind.Q4_0, Kind.Q4_1, Kind.Q8_0])
def test_packed_weights_mean_exactly_those_of_the_file(tmp_path: Path, kind: Kind) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=kind)
    weights = converted(source, tmp_path / "model", WeightForm.HALF)

    for name, expected in independent_weights(source):
        packed = weights[f"{name}.weight"]
        if f"{name}.scales" not in weights:
            np.testing.assert_array_equal(np.array(packed), expected.astype(np.float16), err_msg=name)
            continue
        scales, biases = (weights[f"{name}.{part}"].astype(mx.float32) for part in ("scales", "biases"))
        bits = packed.shape[-1] * 32 // expected.shape[-1]
        assert bits == (8 if kind is Kind.Q8_0 or "embed" in name else 4)
        unpacked = mx.dequantize(packed, scales, biases, group_size=32, bits=bits)
        np.testing.assert_array_equal(np.array(unpacked), expected, err_msg=name)


def test_half_precision_keeps_bfloat16(tmp_path: Path) -> None:
    source = write_tiny_gguf(tmp_path / "tiny.gguf", kind=Kind.BF16, embedding=Kind.BF16)
    weights = converted(source, tmp_path / "model", WeightForm.HALF)

    assert weights["model.embed_tokens.weight"].dtype == mx.bfloat16


@pytest.mark.starter
def test_every_weight_of_the_starter_model_is_exactly_that_of_its_file(
    starter: StarterInstallation, starter_file: Path
) -> None:
    weights = mx.load(str(starter.folder / WEIGHTS_FILE))
    assert isinstance(weights, dict)
    independent = dict(independent_weights(starter_file))

    assert {f"{name}.weight" for name in independent} == {name for name in weights if name.endswith(".weight")}
    for name, expected in independent.items():
        kept = weights[f"{name}.weight"]
        if f"{name}.scales" in weights:
            scales, biases = (weights[f"{name}.{part}"].astype(mx.float32) for part in ("scales", "biases"))
            bits = kept.shape[-1] * 32 // expected.shape[-1]
            kept = mx.dequantize(kept, scales, biases, group_size=32, bits=bits)
        np.testing.assert_array_equal(np.array(kept.astype(mx.float32)), expected, err_msg=name)

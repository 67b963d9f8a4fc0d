"""From a model's config to an mlx-lm model without weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.nn.layers.quantized import quantize

from engine.backend.problems import architecture_unknown, needs_own_code
from engine.sampling.mlx_lm_parts import PACKAGE, import_part

SAME_ARCHITECTURE: Final = {
    "mistral": "llama",
    "llava": "mistral3",
    "phi-msft": "phixtral",
    "falcon_mamba": "mamba",
    "joyai_llm_flash": "deepseek_v3",
    "kimi_k2": "deepseek_v3",
    "qwen2_5_vl": "qwen2_vl",
    "minimax_m2": "minimax",
    "iquestcoder": "llama",
    "xverse": "llama",
    "gemma4_unified": "gemma4",
    "deepseek_v41_text": "deepseek_v41",
}
"""mlx-lm's `MODEL_REMAPPING`; a test compares them. Reading it there would import transformers."""

_NOT_MODELS: Final = frozenset({"base", "cache", "activations", "rope_utils", "switch_layers", "ssm", "gated_delta"})


def create_model(folder: Path, config: Mapping[str, Any], weights: Mapping[str, mx.array]) -> tuple[Module, Any]:
    """The model that `config` describes, quantised as its `weights` are; with the weights renamed for it.

    No code from the folder is run. Raises `ProblemError` (`architecture_unknown`) when mlx-lm has no such model;
    what a model class makes of a senseless config passes through.
    """
    if isinstance(own_code := config.get("model_file"), str):
        raise needs_own_code(folder, own_code)
    module = _module_of(folder, config.get("model_type"))
    model: Module = module.Model(module.ModelArgs.from_dict(dict(config)))
    named: Any = model.sanitize(dict(weights)) if hasattr(model, "sanitize") else dict(weights)
    if isinstance(quantization := config.get("quantization"), dict):
        _quantise(model, quantization, named)
    return model, named


def is_plain(config: Mapping[str, Any]) -> bool:
    """Whether the weights are as MLX itself stores them: dense, or quantised in its affine mode."""
    text = config.get("text_config")
    if "quantization_config" in (text if isinstance(text, dict) else {}):
        return False
    quantization = config.get("quantization")
    if not isinstance(quantization, dict):
        return "quantization_config" not in config
    parts = [quantization, *(part for part in quantization.values() if isinstance(part, dict))]
    return all(part.get("mode", "affine") == "affine" for part in parts)


def _module_of(folder: Path, model_type: object) -> Any:  # noqa: ANN401 - a module of an untyped library
    if not isinstance(model_type, str) or not model_type.replace("-", "_").isidentifier() or model_type in _NOT_MODELS:
        raise architecture_unknown(folder, str(model_type))
    name = SAME_ARCHITECTURE.get(model_type, model_type)
    try:
        module = import_part(f"models.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{PACKAGE}.models.{name}":
            raise
        raise architecture_unknown(folder, model_type) from error
    if not hasattr(module, "Model"):
        raise architecture_unknown(folder, model_type)
    return module


def _quantise(model: Module, quantization: Mapping[str, Any], weights: Mapping[str, mx.array]) -> None:
    """Replace the layers whose weights come with scales; a layer named in the config has numbers of its own."""

    def numbers(path: str, layer: Module) -> bool | dict[str, Any]:
        if path in quantization:
            named: bool | dict[str, Any] = quantization[path]
            return named
        if not hasattr(layer, "to_quantized") or f"{path}.scales" not in weights:
            return False
        return _stored_numbers(layer.weight, weights[f"{path}.weight"], weights[f"{path}.scales"])

    quantize(model, group_size=quantization["group_size"], bits=quantization["bits"], class_predicate=numbers)


def _stored_numbers(dense: mx.array, packed: mx.array, scales: mx.array) -> dict[str, Any]:
    """Bits and group size from the shapes: mixed quantisation differs from the config's general numbers."""
    width = dense.shape[-1]
    return {"group_size": width // scales.shape[-1], "bits": packed.shape[-1] * 32 // width}

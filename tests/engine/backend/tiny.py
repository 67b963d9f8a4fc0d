"""Tiny models with random weights, in float32, of every family whose caches differ."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten, tree_unflatten

from engine.backend.architecture import create_model
from engine.backend.loading import LoadedModel
from engine.contracts import SamplingSettings

VOCABULARY = 96
CONTEXT = 4096

_COMMON: Mapping[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": CONTEXT,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
}

CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "llama": {**_COMMON, "model_type": "llama"},
}


def tiny_model(family: str = "llama", seed: int = 3) -> LoadedModel:
    """A model of `family`; equal arguments give equal weights."""
    config = CONFIGS[family]
    model, _ = create_model(Path(family), config, {})
    mx.random.seed(seed)
    network: Any = model
    named: Any = tree_flatten(network.parameters())
    network.update(tree_unflatten([(name, _random(name, value)) for name, value in named]))
    network.eval()
    mx.eval(network.parameters())
    return LoadedModel(model, Path(family), config, 0, SamplingSettings())


def _random(name: str, like: mx.array) -> mx.array:
    """Large enough that logits differ by several nats and greedy text does not repeat one token."""
    if like.size == 1:
        return like
    scale = 1.0 if like.ndim == 1 or "embed" in name else 2.0 / like.shape[-1] ** 0.5
    noise = mx.random.normal(like.shape) * scale
    return (1.0 + 0.1 * noise if like.ndim == 1 else noise).astype(mx.float32)

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
    "llama3-rope": {
        **_COMMON,
        "model_type": "llama",
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    },
    # A window of 32 tokens, so that it fills, wraps and is merged full as well as half full.
    "gemma3": {**_COMMON, "model_type": "gemma3_text", "sliding_window": 32, "sliding_window_pattern": 2},
    "qwen3-next": {
        **_COMMON,
        "model_type": "qwen3_next",
        "linear_num_value_heads": 4,
        "linear_num_key_heads": 2,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_conv_kernel_dim": 4,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "decoder_sparse_step": 1,
        "shared_expert_intermediate_size": 32,
        "mlp_only_layers": [],
        "moe_intermediate_size": 32,
        "partial_rotary_factor": 0.5,
        "full_attention_interval": 2,
    },
    "lfm2": {
        **_COMMON,
        "model_type": "lfm2",
        "norm_eps": 1e-5,
        "conv_bias": False,
        "conv_L_cache": 3,
        "block_dim": 64,
        "block_ff_dim": 96,
        "block_multiple_of": 16,
        "block_ffn_dim_multiplier": 1.0,
        "block_auto_adjust_ff_dim": False,
        "full_attn_idxs": [1],
    },
    "qwen3-moe": {
        **_COMMON,
        "model_type": "qwen3_moe",
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "moe_intermediate_size": 32,
        "norm_topk_prob": True,
    },
    # Chunked caches cannot be merged: its rows go in turn.
    "llama4": {
        "model_type": "llama4",
        "text_config": {
            **_COMMON,
            "model_type": "llama4_text",
            "attention_bias": False,
            "attention_chunk_size": 64,
            "interleave_moe_layer_step": 1,
            "intermediate_size_mlp": 96,
            "num_experts_per_tok": 1,
            "num_local_experts": 2,
            "rope_scaling": None,
            "use_qk_norm": True,
            "num_hidden_layers": 4,
        },
    },
}


def tiny_model(family: str = "llama", seed: int = 4, **changes: Any) -> LoadedModel:
    """A model of `family`, its config changed by `changes`; equal arguments give equal weights."""
    config = {**CONFIGS[family], **changes}
    # Without a head in its weights, gemma3 ties it to the embedding, and random tied weights repeat one token.
    model, _ = create_model(Path(family), config, {"lm_head.weight": mx.zeros((1,))})
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
    scale = 1.0 if like.ndim == 1 else 0.1 if "embed" in name else 2.0 / like.shape[-1] ** 0.5
    noise = mx.random.normal(like.shape) * scale
    return (1.0 + 0.1 * noise if like.ndim == 1 else noise).astype(mx.float32)

"""The llama architecture: from GGUF's names to those of mlx-lm."""

import re
from collections.abc import Mapping
from typing import Final

from engine.catalog.gguf_header import TensorEntry
from engine.catalog.gguf_metadata import GgufMetadata
from engine.catalog.problems import damaged, unsupported

EMBEDDING: Final = "token_embd.weight"
_OUTPUT: Final = "output.weight"

_OUTSIDE_LAYERS: Final = {
    EMBEDDING: "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    _OUTPUT: "lm_head.weight",
}
_INSIDE_A_LAYER: Final = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LAYER_TENSOR: Final = re.compile(r"blk\.(\d{1,4})\.(\w+)\.(weight|bias)")


def mlx_name(gguf_name: str) -> str | None:
    """The name mlx-lm gives the tensor, or None for one it has no place for."""
    if name := _OUTSIDE_LAYERS.get(gguf_name):
        return name
    match = _LAYER_TENSOR.fullmatch(gguf_name)
    part = match and _INSIDE_A_LAYER.get(match[2])
    return f"model.layers.{match[1]}.{part}.{match[3]}" if match and part else None


def config(metadata: GgufMetadata, tensors: Mapping[str, TensorEntry]) -> dict[str, object]:
    """mlx-lm's `config.json` for the model, without what concerns quantisation and tokens."""
    _refuse_what_mlx_lm_has_no_place_for(metadata)
    heads = metadata.required("llama.attention.head_count", int)
    hidden = metadata.required("llama.embedding_length", int)
    if heads <= 0 or hidden <= 0:
        raise damaged(metadata.path, "its attention has no heads")
    head_dim = metadata.optional("llama.attention.key_length", int, hidden // heads)
    if metadata.optional("llama.rope.dimension_count", int, head_dim) != head_dim:
        raise unsupported(metadata.path, "rotating a part of each head")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": metadata.required("llama.block_count", int),
        "intermediate_size": metadata.required("llama.feed_forward_length", int),
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.optional("llama.attention.head_count_kv", int, heads),
        "head_dim": head_dim,
        "rms_norm_eps": metadata.required("llama.attention.layer_norm_rms_epsilon", float),
        "vocab_size": _vocabulary_size(metadata, tensors),
        "max_position_embeddings": metadata.required("llama.context_length", int),
        "rope_theta": metadata.optional("llama.rope.freq_base", float, 10_000.0),
        # GGUF files hold the rows of q and k in the order that pairs neighbours.
        "rope_traditional": True,
        "rope_scaling": _rope_scaling(metadata),
        "attention_bias": "blk.0.attn_q.bias" in tensors,
        "mlp_bias": "blk.0.ffn_up.bias" in tensors,
        "tie_word_embeddings": _OUTPUT not in tensors,
    }


def _refuse_what_mlx_lm_has_no_place_for(metadata: GgufMetadata) -> None:
    if metadata.optional("llama.expert_count", int, 0):
        raise unsupported(metadata.path, "a mixture of experts")


def _vocabulary_size(metadata: GgufMetadata, tensors: Mapping[str, TensorEntry]) -> int:
    """Rows of the embedding, which may be more than there are tokens."""
    embedding = tensors.get(EMBEDDING)
    if embedding is None or len(embedding.shape) != 2:
        raise damaged(metadata.path, "it has no token embedding")
    return embedding.shape[0]


def _rope_scaling(metadata: GgufMetadata) -> dict[str, object] | None:
    kind = metadata.optional("llama.rope.scaling.type", str, "none")
    if kind == "none":
        return None
    if kind != "linear":
        raise unsupported(metadata.path, f"rotary scaling of kind {kind}")
    return {"rope_type": "linear", "factor": metadata.required("llama.rope.scaling.factor", float)}

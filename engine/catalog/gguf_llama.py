"""The llama architecture: from GGUF's names to those of mlx-lm."""

from collections.abc import Container, Iterator

from engine.catalog.gguf_metadata import GgufMetadata
from engine.catalog.gguf_names import EMBEDDING, OUTPUT, TensorSlot
from engine.catalog.problems import damaged, unsupported


class LlamaConfig:
    """The numbers of one llama model, all from its metadata. Raises ProblemError where mlx-lm's llama differs."""

    def __init__(self, metadata: GgufMetadata, vocabulary_size: int, tensors: Container[str]) -> None:
        self._metadata = metadata
        self._vocabulary = vocabulary_size
        self._tensors = tensors
        self._hidden = self._positive("embedding_length")
        self._layers = self._positive("block_count")
        self._inner = self._positive("feed_forward_length")
        self._heads = self._positive("attention.head_count")
        self._kv_heads = self._positive("attention.head_count_kv", self._heads)
        self._head_dim = self._positive("attention.key_length", self._hidden // self._heads)
        self._refuse_what_has_no_place()

    def to_json(self) -> dict[str, object]:
        """mlx-lm's `config.json`, without what concerns quantisation and tokens."""
        metadata = self._metadata
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self._hidden,
            "num_hidden_layers": self._layers,
            "intermediate_size": self._inner,
            "num_attention_heads": self._heads,
            "num_key_value_heads": self._kv_heads,
            "head_dim": self._head_dim,
            "rms_norm_eps": metadata.required("llama.attention.layer_norm_rms_epsilon", float),
            "vocab_size": self._vocabulary,
            "max_position_embeddings": metadata.required("llama.context_length", int),
            "rope_theta": metadata.optional("llama.rope.freq_base", float, 10_000.0),
            # GGUF files hold the rows of q and k in the order that pairs neighbours.
            "rope_traditional": True,
            "rope_scaling": self._rope_scaling(),
            "attention_bias": "blk.0.attn_q.bias" in self._tensors,
            "mlp_bias": "blk.0.ffn_up.bias" in self._tensors,
            "tie_word_embeddings": OUTPUT not in self._tensors,
        }

    def slots(self) -> Iterator[TensorSlot]:
        """Every tensor the model consists of."""
        yield TensorSlot(EMBEDDING, "model.embed_tokens.weight", (self._vocabulary, self._hidden))
        for layer in range(self._layers):
            yield from self._layer_slots(f"blk.{layer}", f"model.layers.{layer}")
        yield TensorSlot("output_norm.weight", "model.norm.weight", (self._hidden,))
        if OUTPUT in self._tensors:
            yield TensorSlot(OUTPUT, "lm_head.weight", (self._vocabulary, self._hidden))

    def _layer_slots(self, source: str, target: str) -> Iterator[TensorSlot]:
        queries, keys = self._heads * self._head_dim, self._kv_heads * self._head_dim
        yield TensorSlot(f"{source}.attn_norm.weight", f"{target}.input_layernorm.weight", (self._hidden,))
        yield TensorSlot(f"{source}.ffn_norm.weight", f"{target}.post_attention_layernorm.weight", (self._hidden,))
        for part, module, rows, columns in (
            ("attn_q", "self_attn.q_proj", queries, self._hidden),
            ("attn_k", "self_attn.k_proj", keys, self._hidden),
            ("attn_v", "self_attn.v_proj", keys, self._hidden),
            ("attn_output", "self_attn.o_proj", self._hidden, queries),
            ("ffn_gate", "mlp.gate_proj", self._inner, self._hidden),
            ("ffn_up", "mlp.up_proj", self._inner, self._hidden),
            ("ffn_down", "mlp.down_proj", self._hidden, self._inner),
        ):
            yield TensorSlot(f"{source}.{part}.weight", f"{target}.{module}.weight", (rows, columns))
            if f"{source}.{part}.bias" in self._tensors:
                yield TensorSlot(f"{source}.{part}.bias", f"{target}.{module}.bias", (rows,))

    def _refuse_what_has_no_place(self) -> None:
        if self._metadata.optional("llama.expert_count", int, 0):
            raise unsupported(self._metadata.path, "a mixture of experts")
        if self._metadata.optional("llama.rope.dimension_count", int, self._head_dim) != self._head_dim:
            raise unsupported(self._metadata.path, "rotating a part of each head")

    def _rope_scaling(self) -> dict[str, object] | None:
        kind = self._metadata.optional("llama.rope.scaling.type", str, "none")
        if kind == "none":
            return None
        if kind != "linear":
            raise unsupported(self._metadata.path, f"rotary scaling of kind {kind}")
        return {"rope_type": "linear", "factor": self._metadata.required("llama.rope.scaling.factor", float)}

    def _positive(self, key: str, default: int | None = None) -> int:
        name = f"llama.{key}"
        number = self._metadata.optional(name, int, default) if default else self._metadata.required(name, int)
        if not number:
            raise damaged(self._metadata.path, f"its {name} is 0")
        return number

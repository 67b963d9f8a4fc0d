"""Small GGUF files of the llama architecture, written by the independent `gguf` package."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

HIDDEN = 64
INNER = 96
HEADS = 4
KV_HEADS = 2
LAYERS = 2
CONTROL, NORMAL = 3, 1
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = "{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"

Edit = Callable[[gguf.GGUFWriter], None]


def byte_tokens() -> list[str]:
    """GPT-2's printable characters for the 256 bytes."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]


MERGES = ["h e", "l l", "he ll", "hell o", "Ġ w"]
TOKENS = [*SPECIAL, *byte_tokens(), *(merge.replace(" ", "") for merge in MERGES)]


def shapes() -> dict[str, tuple[int, ...]]:
    """Row-major shapes of every tensor."""
    keys = KV_HEADS * HIDDEN // HEADS
    found: dict[str, tuple[int, ...]] = {"token_embd.weight": (len(TOKENS), HIDDEN), "output_norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        for part, shape in {
            "attn_norm": (HIDDEN,),
            "ffn_norm": (HIDDEN,),
            "attn_q": (HIDDEN, HIDDEN),
            "attn_k": (keys, HIDDEN),
            "attn_v": (keys, HIDDEN),
            "attn_output": (HIDDEN, HIDDEN),
            "ffn_gate": (INNER, HIDDEN),
            "ffn_up": (INNER, HIDDEN),
            "ffn_down": (HIDDEN, INNER),
        }.items():
            found[f"blk.{layer}.{part}.weight"] = shape
    return found


def write_tiny_gguf(
    path: Path,
    *,
    kind: Kind = Kind.Q4_1,
    embedding: Kind = Kind.Q8_0,
    metadata: Mapping[str, Any] | None = None,
    without: frozenset[str] = frozenset(),
    edit: Edit | None = None,
) -> Path:
    """Write a model whose matrices are of `kind`. `metadata` overrides values by key; `without` leaves tensors out."""
    values = {**_metadata(), **(metadata or {})}
    writer = gguf.GGUFWriter(path, values.pop("general.architecture"))
    for key, value in values.items():
        _add(writer, key, value)
    random = np.random.default_rng(7)
    for name, shape in shapes().items():
        if name not in without:
            weights = random.standard_normal(shape, dtype=np.float32)
            own = Kind.F32 if len(shape) == 1 else embedding if name == "token_embd.weight" else kind
            writer.add_tensor(name, gguf.quants.quantize(weights, own), raw_dtype=own)
    if edit:
        edit(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _metadata() -> dict[str, Any]:
    return {
        "general.architecture": "llama",
        "llama.block_count": LAYERS,
        "llama.context_length": 128,
        "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 5000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [CONTROL if token in SPECIAL else NORMAL for token in TOKENS],
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
    }


def _add(writer: gguf.GGUFWriter, key: str, value: object) -> None:
    match value:
        case None:
            return
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)

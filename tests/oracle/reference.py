"""The starter model in PyTorch and transformers: prints the log-probabilities of given tokens as JSON.

Runs in an environment of its own (`make test-oracle`). Standard input: {"folder", "token_ids"}. Output: for every
token but the first its log-probability in nats, with the ids of the five most probable ones.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM


def rotate_halves(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """From interleaved pairs, as llama.cpp stores them, to the halves that transformers rotates: [heads*d, hidden]."""
    rows, hidden = weight.shape
    return weight.view(heads, rows // heads // 2, 2, hidden).transpose(1, 2).reshape(rows, hidden)


def load(folder: Path) -> LlamaForCausalLM:
    """The model of an mlx-lm folder in float32."""
    settings: dict[str, Any] = json.loads((folder / "config.json").read_text())
    interleaved = settings.pop("rope_traditional", False)
    model = LlamaForCausalLM(LlamaConfig(**settings)).to(torch.float32).eval()
    weights = {name: value.to(torch.float32) for name, value in load_file(folder / "model.safetensors").items()}
    for name in weights if interleaved else ():
        if name.endswith("q_proj.weight"):
            weights[name] = rotate_halves(weights[name], settings["num_attention_heads"])
        elif name.endswith("k_proj.weight"):
            weights[name] = rotate_halves(weights[name], settings["num_key_value_heads"])
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"weights do not fit: {missing} {unexpected}")
    model.tie_weights()
    return model


def main() -> None:
    """Answer one request."""
    request = json.load(sys.stdin)
    token_ids = torch.tensor([request["token_ids"]])
    with torch.no_grad():
        logits = load(Path(request["folder"]))(token_ids).logits[0, :-1].to(torch.float64)
    logprobs = logits.log_softmax(-1)
    chosen = logprobs.gather(-1, token_ids[0, 1:, None])[:, 0]
    json.dump({"logprobs": chosen.tolist(), "top": logprobs.topk(5).indices.tolist()}, sys.stdout)


if __name__ == "__main__":
    main()

"""Small model folders on the disk, whole until a test breaks them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.catalog.safetensors_file import TensorLayout, encode

CONFIG: Mapping[str, Any] = {"model_type": "llama", "max_position_embeddings": 2048}
WEIGHT_BYTES = 24


def write_weights(path: Path) -> Path:
    """A safetensors file of `WEIGHT_BYTES` bytes of weights."""
    layouts = [TensorLayout("a", "F32", (2, 2), 16), TensorLayout("b", "F16", (4,), 8)]
    path.write_bytes(b"".join(encode(layouts, [memoryview(bytes(16)), memoryview(bytes(8))])))
    return path


def write_model(folder: Path, config: Mapping[str, Any] = CONFIG) -> Path:
    """A model folder that can be used, as far as can be told without loading it."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    write_weights(folder / "model.safetensors")
    return folder


def write_cached_model(cache: Path, repository: str, commit: str, *, ref: str | None = None) -> Path:
    """A repository in a Hugging Face cache: a snapshot of links into blobs. Returns the snapshot's folder."""
    root = cache / f"models--{repository.replace('/', '--')}"
    blobs = write_model(root / "blobs" / commit)
    snapshot = root / "snapshots" / commit
    snapshot.mkdir(parents=True)
    for blob in blobs.iterdir():
        (snapshot / blob.name).symlink_to(blob)
    if ref:
        (root / "refs").mkdir(exist_ok=True)
        (root / "refs" / "main").write_text(ref)
    return snapshot

"""Loads a model folder into memory, with the figures the engine needs of it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import mlx.core as mx
from mlx.nn.layers.base import Module
from mlx.nn.layers.embedding import Embedding
from mlx.nn.layers.quantized import QuantizedEmbedding
from mlx.utils import tree_flatten

from engine.backend.architecture import create_model, is_plain
from engine.backend.chunk_size import SMALLEST_BESIDE, ChunkSize
from engine.backend.device import prepare_device
from engine.backend.problems import model_damaged, model_missing
from engine.backend.weight_files import check_weight_file, find_weight_files
from engine.contracts import SamplingSettings
from engine.sampling.mlx_lm_parts import import_part

_CONTEXT_KEYS: Final = (
    "max_position_embeddings",
    "n_positions",
    "n_ctx",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "model_max_length",
)
_DEFAULT_CONTEXT: Final = 4096


class LoadedModel:
    """A model on the device, owned by whoever loaded it. Belongs to the thread that loaded it, with all its arrays.

    `weight_bytes` is exact, from the files. `chunk_alone` and `chunk_beside` remember how much of a prompt this model
    reads in a unit, while no row decodes and beside rows that do.
    """

    def __init__(
        self,
        model: Module,
        folder: Path,
        config: Mapping[str, Any],
        weight_bytes: int,
        defaults: SamplingSettings,
        fingerprint: str = "",
    ) -> None:
        self._model: Module | None = model
        self.folder = folder
        self.fingerprint = fingerprint
        self.vocabulary_size = _vocabulary_size(model, config)
        self.context_length = _context_length(config)
        self.weight_bytes = weight_bytes
        self.sampling_defaults = defaults
        self.chunk_alone = ChunkSize()
        self.chunk_beside = ChunkSize(SMALLEST_BESIDE, smallest=SMALLEST_BESIDE)

    @property
    def model(self) -> Module:
        """The network. Raises RuntimeError once unloaded."""
        if self._model is None:
            raise RuntimeError(f"{self.folder.name} is unloaded")
        return self._model

    def weights(self) -> list[mx.array]:
        """The network's arrays; each is read from the file when it is first evaluated."""
        named: Any = tree_flatten(self.model.parameters())  # type: ignore[no-untyped-call]
        return [array for _, array in named]

    def unload(self) -> None:
        """Give the memory back; doing it again does nothing. Nobody may still hold the network or a cache of it."""
        self._model = None
        mx.clear_cache()


def load_model(folder: Path) -> LoadedModel:
    """Map the model in `folder`. Weights are read when they are first evaluated; no code of the folder is run.

    Raises `ProblemError`: `model_missing`, `model_damaged` or `architecture_unknown`. Call it on the engine's thread.
    """
    prepare_device()
    config = _read_json(folder / "config.json")
    files = find_weight_files(folder)
    weight_bytes = sum(check_weight_file(file) for file in files)
    model = _build_plain(folder, config, files) if is_plain(config) else _build_converted(folder)
    return LoadedModel(model, folder, config, weight_bytes, _sampling_defaults(folder), _fingerprint(folder, files))


def _build_plain(folder: Path, config: Mapping[str, Any], files: tuple[Path, ...]) -> Module:
    weights: dict[str, mx.array] = {}
    for file in files:
        try:
            weights.update(mx.load(str(file)))  # type: ignore[arg-type]  # safetensors are always a dict
        except (RuntimeError, ValueError) as error:
            raise model_damaged(file, "its tensors cannot be read") from error
    try:
        model, named = create_model(folder, config, weights)
        model.eval()
        model.load_weights(list(named.items()), strict=True)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise model_damaged(folder / "config.json", f"it does not describe the weights beside it ({error})") from error
    return model


def _build_converted(folder: Path) -> Module:
    """A model in another library's quantised format: mlx-lm's loader knows them all, at the price of its imports."""
    try:
        model, _ = import_part("utils").load_model(folder, lazy=True, trust_remote_code=False)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise model_damaged(folder / "config.json", f"it does not describe the weights beside it ({error})") from error
    loaded: Module = model
    return loaded


def _fingerprint(folder: Path, files: tuple[Path, ...]) -> str:
    """From the config, with name, size and time of every weight file: reading them all would take too long."""
    digest = hashlib.sha256((folder / "config.json").read_bytes())
    for file in files:
        status = file.stat()
        digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError as error:
        raise model_missing(file) from error
    except (ValueError, OSError) as error:
        raise model_damaged(file, "it cannot be read") from error
    if not isinstance(content, dict):
        raise model_damaged(file, "it holds no settings")
    return content


def _sampling_defaults(folder: Path) -> SamplingSettings:
    """What `generation_config.json` recommends; values of the wrong type, and a missing file, recommend nothing."""
    try:
        found = _read_json(folder / "generation_config.json")
    except Exception:  # noqa: BLE001 - an optional file: without it the defaults hold
        return SamplingSettings()
    if found.get("do_sample") is False:
        return SamplingSettings(temperature=0.0)
    names = {"temperature": float, "top_p": float, "top_k": int, "min_p": float, "repetition_penalty": float}
    return SamplingSettings(**{name: kind(found[name]) for name, kind in names.items() if _is_number(found.get(name))})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _vocabulary_size(model: Module, config: Mapping[str, Any]) -> int:
    """Ids below this have an embedding, whatever the config says."""
    layers: Any = model
    embeddings: list[int] = [
        layer.weight.shape[0] for layer in layers.modules() if isinstance(layer, Embedding | QuantizedEmbedding)
    ]
    announced = _first_number(config, ("vocab_size",))
    rows = max(embeddings, default=announced or 0)
    return rows if announced is None else min(announced, rows)


def _context_length(config: Mapping[str, Any]) -> int:
    return _first_number(config, _CONTEXT_KEYS) or _DEFAULT_CONTEXT


def _first_number(config: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    nested = config.get("text_config")
    for source in (config, nested if isinstance(nested, dict) else {}):
        for key in keys:
            if isinstance(value := source.get(key), int) and value > 0:
                return value
    return None

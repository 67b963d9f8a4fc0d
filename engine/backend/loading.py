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
from engine.backend.cache_kinds import create_caches
from engine.backend.chunk_size import SMALLEST_BESIDE, ChunkSize
from engine.backend.device import prepare_device
from engine.backend.plausibility import check_numbers
from engine.backend.problems import blamed_on, model_damaged, model_missing
from engine.backend.weight_files import WeightFile, check_weight_file, find_weight_files
from engine.contracts import ProblemError, SamplingSettings
from engine.sampling.mlx_lm_parts import import_part
from engine.sampling.validation import check_sampling

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
_LARGEST_NUMBER: Final = 2**31
"""Of tokens in a context or a vocabulary: more is no length, and makes no array."""
_RECOMMENDED: Final = {"temperature": float, "top_p": float, "top_k": int, "min_p": float, "repetition_penalty": float}
_NO_MATCH: Final = "it does not describe the weights beside it"


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
    weights = WeightFile(*map(sum, zip(*map(check_weight_file, files), strict=True)))
    check_numbers(folder / "config.json", config, weights)
    with blamed_on(folder / "config.json", _NO_MATCH):
        model = _build_plain(folder, config, files) if is_plain(config) else _build_converted(folder)
        defaults, fingerprint = _sampling_defaults(folder), _fingerprint(folder, files)
        return LoadedModel(model, folder, config, weights.tensor_bytes, defaults, fingerprint)


def check_forward(loaded: LoadedModel) -> None:
    """Let the network read two tokens, the first time that anything is computed with a config's numbers.

    Raises `ProblemError` (`model_damaged`) when it cannot, or when its logits make no distribution: their logsumexp is
    finite unless one is NaN or infinite, or all are minus infinity. Position 1 shows what position 0 hides.
    """
    network: Any = loaded.model
    with blamed_on(loaded.folder / "config.json", "the network it describes cannot read a token"):
        logits = network(mx.zeros((1, 2), dtype=mx.uint32), cache=create_caches(loaded.model))
        makes_sense = mx.isfinite(mx.logsumexp(logits.astype(mx.float32), axis=-1)).all().item()
    if not makes_sense:
        raise model_damaged(loaded.folder / "config.json", "the network it describes computes no numbers")


def _build_plain(folder: Path, config: Mapping[str, Any], files: tuple[Path, ...]) -> Module:
    weights: dict[str, mx.array] = {}
    for file in files:
        with blamed_on(file, "its tensors cannot be read"):
            weights.update(mx.load(str(file)))  # type: ignore[arg-type]  # safetensors are always a dict
    model, named = create_model(folder, config, weights)
    model.eval()
    model.load_weights(list(named.items()), strict=True)
    return model


def _build_converted(folder: Path) -> Module:
    """A model in another library's quantised format: mlx-lm's loader knows them all, at the price of its imports."""
    model: Module = import_part("utils").load_model(folder, lazy=True, trust_remote_code=False)[0]
    return model


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
    except (ValueError, OSError, RecursionError) as error:
        raise model_damaged(file, "it cannot be read") from error
    if not isinstance(content, dict):
        raise model_damaged(file, "it holds no settings")
    return content


def _sampling_defaults(folder: Path) -> SamplingSettings:
    """What `generation_config.json` recommends; values without a meaning, and a missing file, recommend nothing."""
    try:
        found = _read_json(folder / "generation_config.json")
    except Exception:  # noqa: BLE001 - an optional file: without it the defaults hold
        return SamplingSettings()
    if found.get("do_sample") is False:
        return SamplingSettings(temperature=0.0)
    return SamplingSettings(
        **{name: kind(found[name]) for name, kind in _RECOMMENDED.items() if _has_meaning(name, found.get(name))}
    )


def _has_meaning(name: str, value: Any) -> bool:  # noqa: ANN401 - whatever JSON can hold
    """Whether `value` can be the setting `name`."""
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST_NUMBER:
        return False
    try:
        check_sampling(SamplingSettings(**{name: value}), vocabulary=1)
    except ProblemError:
        return False
    return True


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
            value = source.get(key)
            if type(value) is int and 1 <= value <= _LARGEST_NUMBER:
                return value
    return None

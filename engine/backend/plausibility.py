"""Whether a config's numbers can be those of the weights beside it, before anything is built from them.

Building a network takes time and memory for every layer announced, long before shapes are compared.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from engine.backend.problems import model_damaged
from engine.backend.weight_files import WeightFile

_LAYERS: Final = ("num_hidden_layers", "num_layers", "n_layers", "n_layer", "num_transformer_layers")
_WIDTHS: Final = (
    "hidden_size",
    "vocab_size",
    "intermediate_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
)


def check_numbers(config_file: Path, config: Mapping[str, Any], weights: WeightFile) -> None:
    """Raise `ProblemError` (`model_damaged`) for more layers than tensors, or a dimension larger than all weights.

    Every layer has a tensor and every weight a bit at least, whatever the architecture calls or packs them.
    """
    bounds = {**dict.fromkeys(_LAYERS, weights.tensor_count), **dict.fromkeys(_WIDTHS, 8 * weights.tensor_bytes)}
    for part in _parts(config):
        for name, bound in bounds.items():
            if isinstance(number := part.get(name), int | float) and not number <= bound:
                raise model_damaged(config_file, f"its {name} does not fit the weights beside it")


def _parts(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The config itself, then those of a text model and others nested in it."""
    yield config
    yield from (part for name, part in config.items() if name.endswith("_config") and isinstance(part, dict))

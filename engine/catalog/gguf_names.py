"""The places for tensors that an architecture has, under GGUF's names as under those of mlx-lm."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

EMBEDDING: Final = "token_embd.weight"
OUTPUT: Final = "output.weight"
"""Absent where the embedding serves for the output too."""


@dataclass(frozen=True)
class TensorSlot:
    """A tensor the model must have: its name in GGUF, its name for mlx-lm, its row-major shape."""

    source: str
    target: str
    shape: tuple[int, ...]


class ArchitectureConfig(Protocol):
    """A model's numbers, read from GGUF metadata."""

    def to_json(self) -> dict[str, object]:
        """mlx-lm's `config.json`, without what concerns quantisation and tokens."""

    def slots(self) -> Iterator[TensorSlot]:
        """Every tensor the model consists of. May be far more than a damaged file has: stop at the first absent."""

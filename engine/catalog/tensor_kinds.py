"""The number formats of GGUF tensors that Candor reads."""

import enum
from typing import Self


class TensorKind(enum.Enum):
    """One number format: ggml's number for it, weights per block, bytes per block, bits per quantised weight.

    Blocks are those of `ggml-common.h`. Dense formats have blocks of one weight and no bits.
    """

    F32 = (0, 1, 4, None)
    F16 = (1, 1, 2, None)
    Q4_0 = (2, 32, 18, 4)
    Q4_1 = (3, 32, 20, 4)
    Q8_0 = (8, 32, 34, 8)
    BF16 = (30, 1, 2, None)

    def __init__(self, number: int, block_weights: int, block_bytes: int, bits: int | None) -> None:
        self.number = number
        self.block_weights = block_weights
        self.block_bytes = block_bytes
        self.bits = bits

    @classmethod
    def from_number(cls, number: int) -> Self | None:
        """The kind that ggml gives this number, or None when Candor does not read it."""
        return next((kind for kind in cls if kind.number == number), None)

    def byte_count(self, weights: int) -> int:
        """Bytes that `weights` weights take; a whole number of blocks."""
        return weights // self.block_weights * self.block_bytes

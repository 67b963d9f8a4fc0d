"""The random key of every draw, from a row's seed with the number of its token."""

from collections.abc import Sequence

import mlx.core as mx

MASK_64 = (1 << 64) - 1
GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def draw_keys(draws: Sequence[tuple[int, int]]) -> mx.array:
    """Keys of shape [rows, 2], uint32, for pairs of (seed, index of the token in the answer).

    A key depends on nothing else, so a row draws the same alone, in any batch, after being parked, and when it
    begins with a forced prefix of its own earlier tokens.
    """
    return mx.array([_halves(_mix(_mix(seed) + index)) for seed, index in draws], dtype=mx.uint32)


def _mix(value: int) -> int:
    """One step of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    value = (value + GOLDEN_GAMMA) & MASK_64
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK_64
    return value ^ (value >> 31)


def _halves(value: int) -> tuple[int, int]:
    return value >> 32, value & 0xFFFFFFFF

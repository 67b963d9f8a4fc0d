"""The weights of a GGUF file as MLX arrays, one tensor at a time.

The file is read through its checked header alone: MLX's own GGUF reader trusts what the file says of itself,
and turns bfloat16 into float16.
"""

import enum
import math
import mmap
from collections.abc import Iterator
from dataclasses import dataclass

import mlx.core as mx

from engine.catalog.gguf_header import TensorEntry
from engine.catalog.safetensors_file import TensorLayout
from engine.catalog.tensor_kinds import TensorKind

GROUP_SIZE = 32
"""Weights that share one scale, in every quantised format that is read."""


class WeightForm(enum.StrEnum):
    """How weights are kept. The values are recorded with an installed model."""

    FLOAT32 = "float32"
    """Dense: where half precision is emulated and quantised weights gain nothing."""
    HALF = "half"
    """Half precision; quantised weights keep their groups and bits."""


def form_for_this_machine() -> WeightForm:
    """Half precision where a GPU computes it."""
    return WeightForm.HALF if mx.metal.is_available() else WeightForm.FLOAT32


@dataclass(frozen=True)
class StoredTensor:
    """One tensor of a GGUF file under the name it shall have in the model folder."""

    name: str
    entry: TensorEntry
    form: WeightForm

    @property
    def is_quantised(self) -> bool:
        """Whether it is kept as packed weights with scales and biases."""
        return self.form is WeightForm.HALF and self.entry.kind.bits is not None

    def layouts(self) -> Iterator[TensorLayout]:
        """What the safetensors header says of it."""
        shape = self.entry.shape
        bits = self.entry.kind.bits
        if not self.is_quantised or bits is None:
            yield _layout(self.name, _dense_dtype(self.entry.kind, self.form), shape)
            return
        stem = self.name.removesuffix(".weight")
        groups = (*shape[:-1], shape[-1] // GROUP_SIZE)
        yield _layout(self.name, "U32", (*shape[:-1], shape[-1] * bits // 32))
        yield _layout(f"{stem}.scales", "F16", groups)
        yield _layout(f"{stem}.biases", "F16", groups)

    def contents(self, file: mmap.mmap) -> Iterator[memoryview]:
        """The bytes that belong to `layouts`, in its order, computed from the tensor in `file`."""
        end = self.entry.offset + self.entry.byte_count
        raw = mx.array(memoryview(file)[self.entry.offset : end])  # type: ignore[arg-type]  # any buffer will do
        for array in _kept(raw, self.entry, self.form):
            flat = mx.contiguous(array).reshape(-1).view(mx.uint8)
            yield memoryview(flat)  # type: ignore[arg-type]  # it has the buffer protocol


def _kept(raw: mx.array, entry: TensorEntry, form: WeightForm) -> Iterator[mx.array]:
    """`raw`, the tensor's bytes, in the form in which it is kept."""
    shape = entry.shape
    if entry.kind.bits is None:
        yield _dense(raw, entry.kind, form).reshape(shape)
        return
    weights, scales, biases = _groups(raw, entry.kind)
    if form is WeightForm.FLOAT32:
        yield (weights * scales + biases).reshape(shape)
        return
    yield _packed(weights, entry.kind.bits).reshape(*shape[:-1], -1)
    yield scales.astype(mx.float16).reshape(*shape[:-1], -1)
    yield biases.astype(mx.float16).reshape(*shape[:-1], -1)


def _dense(raw: mx.array, kind: TensorKind, form: WeightForm) -> mx.array:
    stored = {TensorKind.F32: mx.float32, TensorKind.F16: mx.float16, TensorKind.BF16: mx.bfloat16}[kind]
    kept = {"F32": mx.float32, "F16": mx.float16, "BF16": mx.bfloat16}[_dense_dtype(kind, form)]
    return raw.view(stored).astype(kept)


def _dense_dtype(kind: TensorKind, form: WeightForm) -> str:
    if form is WeightForm.FLOAT32:
        return "F32"
    return "BF16" if kind is TensorKind.BF16 else "F16"


def _groups(raw: mx.array, kind: TensorKind) -> tuple[mx.array, mx.array, mx.array]:
    """Unsigned weights (n, 32) with float32 scales and biases (n, 1): a weight's value is scale * weight + bias."""
    blocks = raw.reshape(-1, kind.block_bytes)
    scales = _half(blocks[:, :2])
    match kind:
        case TensorKind.Q4_1:
            return _nibbles(blocks[:, 4:]), scales, _half(blocks[:, 2:4])
        case TensorKind.Q4_0:
            return _nibbles(blocks[:, 2:]), scales, scales * -8
        case TensorKind.Q8_0:
            # Signed bytes become unsigned ones when the sign bit is flipped; the bias takes the difference back.
            return blocks[:, 2:] ^ 0x80, scales, scales * -128
        case _:
            raise ValueError(f"{kind.name} is not quantised")


def _half(pairs: mx.array) -> mx.array:
    """Half-precision numbers from pairs of bytes (n, 2), widened to float32, in which what follows is exact."""
    return mx.contiguous(pairs).view(mx.float16).astype(mx.float32)


def _nibbles(packed: mx.array) -> mx.array:
    """The first half of a block is in the low four bits of its bytes, the second half in the high ones."""
    return mx.concatenate([packed & 0xF, packed >> 4], axis=-1)


def _packed(weights: mx.array, bits: int) -> mx.array:
    """Unsigned weights as MLX packs them: the first in the lowest bits of a 32-bit word."""
    if bits == 8:
        return mx.contiguous(weights).view(mx.uint32)
    return mx.contiguous(weights[:, 0::2] | (weights[:, 1::2] << 4)).view(mx.uint32)


def _layout(name: str, dtype: str, shape: tuple[int, ...]) -> TensorLayout:
    width = {"F32": 4, "U32": 4, "F16": 2, "BF16": 2}[dtype]
    return TensorLayout(name, dtype, shape, math.prod(shape) * width)

"""Columns of numbers as compact bytes that give back exactly what was put in."""

import math
from array import array
from collections.abc import Iterable, Sequence

import msgspec


class FloatColumn(msgspec.Struct, frozen=True, array_like=True):
    """Optional floats: `typecode` "f" or "d", the present values, and which are present ("" when all are)."""

    typecode: str
    values: bytes
    present: bytes = b""


class IntColumn(msgspec.Struct, frozen=True, array_like=True):
    """Integers in the narrowest array type that holds them all."""

    typecode: str
    values: bytes


def pack_ints(numbers: Sequence[int]) -> IntColumn:
    """Raises `OverflowError` outside 64 bits."""
    low, high = min(numbers, default=0), max(numbers, default=0)
    typecode = next((code for code, least, most in _INT_RANGES if least <= low and high <= most), "q")
    return IntColumn(typecode, array(typecode, numbers).tobytes())


def unpack_ints(column: IntColumn) -> list[int]:
    return _read(column.typecode, column.values).tolist()


def pack_floats(numbers: Sequence[float | None]) -> FloatColumn:
    """Single precision where that loses nothing, as it does for values that come from a float32 device."""
    present = [number for number in numbers if number is not None]
    mask = b"" if len(present) == len(numbers) else bytes(number is not None for number in numbers)
    single = array("f", present) if _fits_single(present) else None
    if single is not None and _same_floats(single, present):
        return FloatColumn("f", single.tobytes(), mask)
    return FloatColumn("d", array("d", present).tobytes(), mask)


def unpack_floats(column: FloatColumn) -> list[float | None]:
    values = _read(column.typecode, column.values).tolist()
    if not column.present:
        return list(values)
    following = iter(values)
    return [next(following) if present else None for present in column.present]


_INT_RANGES = (
    ("B", 0, 2**8 - 1),
    ("b", -(2**7), 2**7 - 1),
    ("H", 0, 2**16 - 1),
    ("h", -(2**15), 2**15 - 1),
    ("i", -(2**31), 2**31 - 1),
)

_MAX_SINGLE = 3.4028234663852886e38


def _read(typecode: str, values: bytes) -> "array[int]":
    if typecode not in "BbHhiqfd":
        raise ValueError(f"unknown column type {typecode!r}")
    column: array[int] = array(typecode)
    column.frombytes(values)
    return column


def _fits_single(numbers: Iterable[float]) -> bool:
    """Packing a finite double beyond single precision's range raises, so it is asked first."""
    return all(abs(number) <= _MAX_SINGLE or not math.isfinite(number) for number in numbers)


def _same_floats(single: Iterable[float], exact: Iterable[float]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(single, exact, strict=True))

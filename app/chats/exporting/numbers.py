"""Numbers that JSON has no word for, written as strings.

The names are those of the protocol buffers' JSON mapping: "NaN", "Infinity" and "-Infinity".
"""

import math
from typing import Any

Number = float | str | None

_NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def number_of(value: float | None) -> Number:
    """`value` as JSON can hold it."""
    if value is None or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def float_of(number: Number) -> float | None:
    """The inverse. Raises `ValueError` for any other string."""
    if not isinstance(number, str):
        return number
    if number not in _NAMES:
        raise ValueError("not a number")
    return _NAMES[number]


def writable(value: Any) -> Any:  # noqa: ANN401 JSON has any shape
    """A value of dicts, lists and scalars with every float that JSON lacks replaced by its name."""
    match value:
        case float():
            return number_of(value)
        case dict():
            return {key: writable(each) for key, each in value.items()}
        case list() | tuple():
            return [writable(each) for each in value]
        case _:
            return value

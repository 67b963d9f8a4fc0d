"""One measured value."""

from typing import TypedDict


class Figure(TypedDict):
    """`versus` says what a ratio was taken against, in the same run; empty for a value that stands alone."""

    name: str
    value: float
    unit: str
    versus: str

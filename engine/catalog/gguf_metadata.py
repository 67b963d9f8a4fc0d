"""Typed look-ups in GGUF metadata, whose values may have any type or be absent."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, overload

from engine.catalog.gguf_header import Value
from engine.catalog.problems import damaged

S = TypeVar("S", int, float, bool, str)


class GgufMetadata:
    """The metadata of the file at `path`; a value of the wrong type, or a missing required one, is a ProblemError."""

    def __init__(self, values: Mapping[str, Value], path: Path) -> None:
        self._values = values
        self.path = path

    def required(self, key: str, kind: type[S]) -> S:
        """The value of `key`."""
        value = self.optional(key, kind)
        if value is None:
            raise damaged(self.path, f"it does not say its {key}")
        return value

    @overload
    def optional(self, key: str, kind: type[S]) -> S | None: ...
    @overload
    def optional(self, key: str, kind: type[S], default: S) -> S: ...
    def optional(self, key: str, kind: type[S], default: S | None = None) -> S | None:
        """The value of `key`, or `default` where the file does not say."""
        value = self._values.get(key)
        if value is None:
            return default
        if type(value) is not kind or not _is_sensible(value):
            raise damaged(self.path, f"its {key} makes no sense")
        return value

    def sequence(self, key: str, kind: type[S]) -> list[S]:
        """The list at `key`, all of whose items are of `kind`."""
        value = self._values.get(key)
        if not isinstance(value, list) or any(type(item) is not kind for item in value):
            raise damaged(self.path, f"its {key} makes no sense")
        return [item for item in value if isinstance(item, kind)]


def _is_sensible(value: float | str) -> bool:
    """Numbers count things or scale them: none is negative, infinite or undefined."""
    return isinstance(value, str) or (math.isfinite(value) and value >= 0)

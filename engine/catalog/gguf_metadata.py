"""Typed look-ups in GGUF metadata, whose values may have any type or be absent."""

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, overload

from engine.catalog.gguf_header import Value
from engine.catalog.problems import damaged

S = TypeVar("S", int, float, bool, str)
_ABSENT = object()


class GgufMetadata:
    """The metadata of the file at `path`; a value of the wrong type, or a missing required one, is a ProblemError."""

    def __init__(self, values: Mapping[str, Value], path: Path) -> None:
        self._values = values
        self.path = path

    @property
    def architecture(self) -> str:
        """The family of the model; most other keys begin with it."""
        return self.required("general.architecture", str)

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
        if type(value) is not kind:
            raise damaged(self.path, f"its {key} is not of the expected kind")
        return value

    def sequence(self, key: str, kind: type[S]) -> list[S]:
        """The list at `key`, all of whose items are of `kind`."""
        value = self._values.get(key)
        if not isinstance(value, list) or any(type(item) is not kind for item in value):
            raise damaged(self.path, f"its {key} is not a list of the expected kind")
        return [item for item in value if isinstance(item, kind)]

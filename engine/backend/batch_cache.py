"""The KV caches of the rows in a batch, whatever kind the model uses."""

from collections.abc import Sequence
from typing import Any, Protocol

import mlx.core as mx

from engine.backend.cache_kinds import Cache, can_merge


class BatchCache(Protocol):
    """Caches of rows in batch order. Joining, leaving and reading happen between or in units, never at once."""

    def forward(self, model: Any, inputs: mx.array) -> mx.array:  # noqa: ANN401
        """Logits [rows, vocabulary], lazy, after feeding each row its token of `inputs` [rows]."""

    def join(self, caches: Sequence[list[Cache]]) -> None:
        """Add rows at the end, by their own caches, which belong to the batch from now on."""

    def take_out(self, place: int) -> list[Cache]:
        """The caches of one row, for itself; the batch stays as it is. Lazy: evaluate before the next step."""

    def keep(self, places: Sequence[int]) -> None:
        """Drop all rows but these, which stay in this order."""


def create_batch_cache(caches: Sequence[Cache]) -> BatchCache:
    """The kind of batch that the model's own `caches` allow."""
    return MergedCache() if can_merge(caches) else SeparateCaches()


class MergedCache:
    """All rows in one forward pass. A row alone keeps its plain caches: they need no mask and no copy."""

    def __init__(self) -> None:
        self._layers: list[Cache] = []
        self._rows = 0

    def forward(self, model: Any, inputs: mx.array) -> mx.array:  # noqa: ANN401
        logits: mx.array = model(inputs[:, None], cache=self._layers)
        return logits[:, -1, :]

    def join(self, caches: Sequence[list[Cache]]) -> None:
        if not caches:
            return
        if self._rows == 0 and len(caches) == 1:
            self._layers = caches[0]
        elif self._rows <= 1:
            self._layers = _merge([*([self._layers] if self._rows else []), *caches])
        else:
            for layer, joining in zip(self._layers, _merge(caches), strict=True):
                layer.extend(joining)
        self._rows += len(caches)

    def take_out(self, place: int) -> list[Cache]:
        return self._layers if self._rows == 1 else [layer.extract(place) for layer in self._layers]

    def keep(self, places: Sequence[int]) -> None:
        if len(places) == self._rows:
            return
        if len(places) == 1:
            self._layers = self.take_out(places[0])
        elif places:
            for layer in self._layers:
                layer.filter(list(places))
        else:
            self._layers = []
        self._rows = len(places)


class SeparateCaches:
    """Rows in turn, for caches that cannot be merged: slower, never wrong."""

    def __init__(self) -> None:
        self._rows: list[list[Cache]] = []

    def forward(self, model: Any, inputs: mx.array) -> mx.array:  # noqa: ANN401
        logits = [model(inputs[row : row + 1, None], cache=caches) for row, caches in enumerate(self._rows)]
        return mx.concatenate(logits)[:, -1, :]

    def join(self, caches: Sequence[list[Cache]]) -> None:
        self._rows.extend(caches)

    def take_out(self, place: int) -> list[Cache]:
        return self._rows[place]

    def keep(self, places: Sequence[int]) -> None:
        self._rows = [self._rows[place] for place in places]


def _merge(caches: Sequence[list[Cache]]) -> list[Cache]:
    return [layer[0].merge(list(layer)) for layer in zip(*caches, strict=True)]

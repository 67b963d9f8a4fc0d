"""Whether a group may admit rows."""

from collections.abc import Callable

from engine.contracts import Release


class AdmissionHold:
    """Held while anybody holds it."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._holders: set[object] = set()

    @property
    def is_held(self) -> bool:
        return bool(self._holders)

    def take(self) -> Release:
        """Hold; the returned function lets go, any number of times."""
        holder = object()
        self._holders.add(holder)

        def let_go() -> None:
            self._holders.discard(holder)
            self._on_change()

        return let_go

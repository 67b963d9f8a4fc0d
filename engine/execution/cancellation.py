"""The writing end of a cancellation."""

from collections.abc import Callable, Iterator
from functools import partial

from engine.contracts import SessionCancelledError, Unsubscribe
from engine.runtime.disposal import Step, raise_together, run_all

Listener = Callable[[str], None]


class CancellationSource:
    """A cancellation whose owner decides when it fires. The first reason wins for ever, also an empty one.

    Confined to the loop of its owner.
    """

    __slots__ = ("_listeners", "_reason")

    def __init__(self) -> None:
        self._reason: str | None = None
        self._listeners: dict[object, Listener] = {}

    @property
    def reason(self) -> str | None:
        return self._reason

    def cancel(self, reason: str) -> None:
        """Record `reason` and call every listener; cancelling again does nothing.

        Every listener is called even if an earlier one raised; then one error is raised as it is, several together.
        """
        if self._reason is not None:
            return
        self._reason = reason
        raise_together("cancellation listeners failed", run_all(self._take_listeners(reason)))

    def _take_listeners(self, reason: str) -> Iterator[Step]:
        """One call for each listener, taken out just before it runs: an earlier one may unsubscribe a later one."""
        while self._listeners:
            listener = self._listeners.pop(next(iter(self._listeners)))
            yield partial(listener, reason)

    def subscribe(self, listener: Listener) -> Unsubscribe:
        if self._reason is not None:
            listener(self._reason)
            return lambda: None
        key = object()
        self._listeners[key] = listener
        return lambda: self._forget(key)

    def _forget(self, key: object) -> None:
        self._listeners.pop(key, None)

    def raise_if_cancelled(self) -> None:
        if self._reason is not None:
            raise SessionCancelledError(self._reason)

"""Why a session was cancelled, told to everything that works for it."""

from collections.abc import Callable
from typing import Final, Protocol

REQUESTED: Final = "requested"
"""The user pressed Stop."""
CONSUMER_CLOSED: Final = "consumer_closed"
"""The reader closed its end: a tab was closed, or the iterator was left early."""
CONSUMER_IDLE: Final = "consumer_idle"
"""The reader went away without a word and the idle time ran out."""
ENGINE_CLOSED: Final = "engine_closed"
"""The engine shuts down while the session runs."""

Unsubscribe = Callable[[], None]


class SessionCancelledError(Exception):
    """Raised inside a session's work once its cancellation is recorded; carries the first reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cancelled: {reason}")
        self.reason = reason


class Cancellation(Protocol):
    """The reading end of a cancellation. The session owns the writing end; the first reason wins for ever.

    Listeners run synchronously, once each, in the order of subscription; one that subscribes late is called at once.
    Everything happens on the engine's loop.
    """

    @property
    def reason(self) -> str | None:
        """The first reason given, or None while nothing is cancelled."""

    def subscribe(self, listener: Callable[[str], None]) -> Unsubscribe:
        """Call `listener` with the reason once cancelled; the returned function takes it back, any number of times."""

    def raise_if_cancelled(self) -> None:
        """Raise `SessionCancelledError` with the first reason, or return."""

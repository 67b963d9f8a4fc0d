"""The time in which a run may publish."""

import asyncio

from engine.contracts import Cancellation
from engine.execution.refusals import Refusal, RefusedError


class PublicationWindow:
    """Open until `execute` has returned, on the session's own loop, and never once cancelled.

    Nothing can be published before `execute` begins: only then has the run an output.
    """

    def __init__(self, cancellation: Cancellation) -> None:
        self._cancellation = cancellation
        self._loop = asyncio.get_running_loop()
        self._is_open = True

    def close(self) -> None:
        self._is_open = False

    def check(self) -> None:
        """Raise `SessionCancelledError` or `RefusedError` unless something may be published now."""
        self._cancellation.raise_if_cancelled()
        if not self._is_open:
            raise RefusedError(Refusal.PUBLICATION_OUTSIDE_EXECUTION)
        if asyncio.get_running_loop() is not self._loop:
            raise RefusedError(Refusal.FOREIGN_LOOP)

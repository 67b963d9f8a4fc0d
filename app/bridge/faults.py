"""Errors that nobody expected, reported once each."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

_log = logging.getLogger(__name__)


class Faults:
    """Writes each error to the log and tells `announce` that there was one."""

    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce

    def report(self, error: BaseException) -> None:
        _log.error("unexpected error", exc_info=error)
        self._announce()

    @contextmanager
    def caught(self) -> Iterator[None]:
        """While the block runs, errors of Qt slots and of the running loop's callbacks come here as well."""
        loop = asyncio.get_running_loop()
        previous_hook, previous_handler = sys.excepthook, loop.get_exception_handler()
        sys.excepthook = self._from_slot
        loop.set_exception_handler(self._from_loop)
        try:
            yield
        finally:
            sys.excepthook = previous_hook
            loop.set_exception_handler(previous_handler)

    def _from_slot(self, _kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
        self.report(error.with_traceback(place))

    def _from_loop(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.report(context.get("exception") or RuntimeError(context["message"]))

"""What presenters need from the loop they run on."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

R = TypeVar("R")


class Tasks(Protocol):
    """Owns every task that is started through it; a task's unexpected error is reported once, by the owner."""

    def start(self, work: Coroutine[Any, Any, R], name: str) -> asyncio.Task[R]:
        """Run `work` on the app's loop until it ends or the owner closes."""

"""Work that a session wraps and that publishes progress, but no token: loads and installations."""

from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from engine.contracts import Output

R = TypeVar("R")


class Errand(Generic[R]):
    """Plan and run in one: nothing is prepared, nothing is held. `work` gets the output to publish progress on."""

    output_token_limit = 0

    def __init__(self, work: Callable[[Output], Awaitable[R]]) -> None:
        self._work = work

    async def create_run(self) -> "Errand[R]":
        return self

    async def release(self) -> None:
        """Nothing was acquired."""

    async def execute(self, output: Output) -> R:
        return await self._work(output)

    async def close(self) -> None:
        """Nothing is held."""

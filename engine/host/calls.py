"""Questions to the engine that wait for their answers."""

import asyncio
from collections.abc import Callable
from typing import Any

from engine.contracts import Problem, ProblemError


class PendingCalls:
    """Each call has a number, and one caller who waits. Belongs to the client's loop."""

    def __init__(self) -> None:
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._last_number = 0

    async def ask(self, send: Callable[[int], None]) -> Any:  # noqa: ANN401 - whatever answers that question
        """Send a question under the number given to it; the answer, or `ProblemError`."""
        self._last_number = number = self._last_number + 1
        self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            send(number)
            return await self._answers[number]
        finally:
            del self._answers[number]

    def answer(self, number: int, answer: object) -> None:
        """The engine answered; a caller that was cancelled meanwhile is not there any more."""
        future = self._answers.get(number)
        if future is not None and not future.done():
            future.set_result(answer)

    def fail(self, number: int, problem: Problem) -> None:
        """The engine's answer is a problem."""
        future = self._answers.get(number)
        if future is not None and not future.done():
            future.set_exception(ProblemError(problem))

    def fail_all(self, problem: Problem) -> None:
        """There will be no answers."""
        for number in self._answers:
            self.fail(number, problem)

"""The work of one session, from preparation to the last thing freed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NoReturn, TypeVar

from engine.contracts import Cancellation, Plan, Prepare, Run, SessionState
from engine.execution.deliveries import Delivery
from engine.execution.endings import Ending, Raised, Returned
from engine.execution.limits import checked_output_limit
from engine.execution.publications import Publications
from engine.execution.window import PublicationWindow
from engine.runtime.disposal import run_all

R = TypeVar("R")


class Lifecycle(Generic[R]):
    """Prepares, reserves, executes and closes, and cleans up whatever happens, also when its own task is cancelled.

    `enter` is told each state; `interrupted` that somebody cancelled the task, which then goes on cleaning up.
    """

    def __init__(
        self,
        cancellation: Cancellation,
        delivery: Delivery,
        publications: Publications,
        window: PublicationWindow,
        *,
        enter: Callable[[SessionState], None],
        interrupted: Callable[[], None],
    ) -> None:
        self._cancellation = cancellation
        self._delivery = delivery
        self._publications = publications
        self._window = window
        self._enter = enter
        self._interrupted = interrupted
        self._plan: Plan[R] | None = None
        self._run: Run[R] | None = None

    def begin(self, prepare: Prepare[R]) -> Awaitable[Plan[R]]:
        """Call `prepare`; what it raises directly is raised where it is awaited instead."""
        self._enter(SessionState.PREPARING)
        try:
            return prepare(self._cancellation)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the border to the method
            return _failing(error)

    async def live(self, preparation: Awaitable[Plan[R]]) -> Ending[R]:
        execution = await self._execute(preparation)
        self._enter(SessionState.SETTLING)
        errors = await self._close_undisturbed()
        errors += run_all([self._delivery.release])
        return Ending(execution, errors)

    async def _execute(self, preparation: Awaitable[Plan[R]]) -> Returned[R] | Raised:
        try:
            run = await self._create_run(preparation)
            return Returned(await self._execute_run(run))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - every failure becomes an outcome
            return Raised(error)
        finally:
            self._note_interruption()

    async def _create_run(self, preparation: Awaitable[Plan[R]]) -> Run[R]:
        plan = self._plan = await preparation
        self._cancellation.raise_if_cancelled()
        limit = checked_output_limit(plan.output_token_limit)
        self._delivery.reserve(limit)
        self._publications.allow(limit)
        run = self._run = await plan.create_run()
        self._cancellation.raise_if_cancelled()
        return run

    async def _execute_run(self, run: Run[R]) -> R:
        self._enter(SessionState.RUNNING)
        try:
            return await run.execute(self._publications)
        finally:
            self._window.close()

    async def _close_undisturbed(self) -> list[BaseException]:
        """Close in a task of its own, which a cancellation of this one does not reach."""
        closing = asyncio.create_task(self._close())
        while not closing.done():
            try:
                await asyncio.wait((closing,))
            except asyncio.CancelledError:
                self._note_interruption()
        error = asyncio.CancelledError() if closing.cancelled() else closing.exception()
        return [] if error is None else [error]

    async def _close(self) -> None:
        await self._publications.closed()
        if self._run is not None:
            await self._run.close()
        elif self._plan is not None:
            await self._plan.release()

    def _note_interruption(self) -> None:
        """Turn a cancellation of this task into one of the session, so that the rest can be awaited."""
        task = asyncio.current_task()
        while task is not None and task.cancelling():
            task.uncancel()
            self._interrupted()


async def _failing(error: BaseException) -> NoReturn:
    raise error

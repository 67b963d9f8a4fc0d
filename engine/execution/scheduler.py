"""The policy loop that drives one execution group."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from engine.contracts import Clock, ExecutionGroup
from engine.execution.leases import Leases
from engine.execution.policy import (
    became_held,
    fits_preparation,
    is_closed,
    is_first_row_alone,
    is_idle,
    may_admit,
    may_grow,
    may_keep_the_loop,
    may_run_task,
    mixed_budget,
    mixed_demand,
)
from engine.execution.refusals import Refusal, RefusedError
from engine.runtime.disposal import dispose_all

MAX_IDLE_BURSTS: Final = 32
"""So many turns in a row may ask for an admission that does not take, before the rows in the batch go on."""


async def one_turn_of_the_loop() -> None:
    """Let everything else that is ready run once."""
    await asyncio.sleep(0)


async def drive(
    group: ExecutionGroup,
    clock: Clock,
    *,
    yield_after_preparation: bool = False,
    give_way: Callable[[], Awaitable[None]] = one_turn_of_the_loop,
) -> None:
    """Decide what the group does next until it is closed, then fail what is left and give everything back.

    An error of `advance` fails the active rows and no more. Any other error ends the loop: every row fails with it, and
    `drive` returns as if closed; the group has to refuse work from then on. Raises only what ending itself raised: one
    error as it is, several together. Cancelling the task ends it like closing the group does.
    """
    driver = _Driver(group, clock, yield_after_preparation, give_way)
    cause: Exception = RefusedError(Refusal.SCHEDULER_CLOSED)
    try:
        await driver.take_turns()
    except Exception as error:  # noqa: BLE001 - the border of the group: its rows are told, whatever it is
        cause = error
    finally:
        dispose_all("the scheduler did not end cleanly", partial(group.fail_all, cause), driver.leases.release)


class _Driver:
    """One run of the policy loop."""

    def __init__(
        self,
        group: ExecutionGroup,
        clock: Clock,
        yield_after_preparation: bool,
        give_way: Callable[[], Awaitable[None]],
    ) -> None:
        self.leases = Leases(group)
        self._group = group
        self._clock = clock
        self._yield_after_preparation = yield_after_preparation
        self._give_way = give_way
        self._yielded_at_ms = 0.0
        self._idle_bursts = 0

    async def take_turns(self) -> None:
        """Take one turn after the other. `continue` means: look at everything anew."""
        group = self._group
        while not is_closed(group):
            group.prune_cancelled()
            held = group.admission_held
            if is_idle(group, held):
                await self._wait_for_work()
                continue
            waited = await self.leases.take()
            if is_closed(group) or (waited and became_held(group, held)):
                continue
            if may_run_task(group, held):
                await group.advance_task()
                if is_closed(group):
                    continue
                group.prune_cancelled()
                held = group.admission_held
            await self._drive_rows(held)

    async def _drive_rows(self, held: bool) -> None:
        """The part of a turn that admits, prepares and decodes. `return` means: the next turn, at once."""
        group = self._group
        moved = may_admit(group, held) and group.admit_next()
        self._grow_preparation(held)
        if (demand := mixed_demand(group)) is not None:
            await group.advance_mixed(mixed_budget(group, demand))
            return await self._yield()
        was_preparing = group.preparing
        if was_preparing and await self._prepare():
            return await self._yield()
        closed_meanwhile = was_preparing and is_closed(group)
        if self._may_burst(held, moved or was_preparing):
            # A group whose units never suspend would otherwise keep the loop for as long as rows are queued.
            return await one_turn_of_the_loop()
        if group.active > 0 and not closed_meanwhile:
            await self._advance()
        if not may_keep_the_loop(group, self._clock.now_ms() - self._yielded_at_ms):
            await self._yield()
        return None

    async def _wait_for_work(self) -> None:
        self.leases.release()
        await self._group.wait_for_work()
        # A group with work that may not begin answers at once: without a turn for others this would be a hard spin.
        await one_turn_of_the_loop()

    def _grow_preparation(self, held: bool) -> None:
        group = self._group
        while may_grow(group, held) and group.can_burst() and fits_preparation(group):
            if not group.admit_next():
                return

    async def _prepare(self) -> bool:
        """One preparation step. True if what came out of it should be seen before anything is decoded."""
        group = self._group
        active_before = group.active
        await group.advance_preparation()
        return group.preparation_published_output or (
            self._yield_after_preparation and is_first_row_alone(group, active_before)
        )

    def _may_burst(self, held: bool, moved: bool) -> bool:
        """Fill the batch before it is advanced. `moved`: this turn admitted or prepared something.

        An admission that does not take is asked again only so often: without that bound the active rows would starve.
        """
        group = self._group
        self._idle_bursts = 0 if moved else self._idle_bursts
        wanted = may_admit(group, held) and self._idle_bursts < MAX_IDLE_BURSTS and group.can_burst()
        self._idle_bursts = self._idle_bursts + 1 if wanted else 0
        return wanted

    async def _advance(self) -> None:
        try:
            await self._group.advance()
        except Exception as error:  # noqa: BLE001 - the border of one decode step: the next can still work
            self._group.fail_active(error)

    async def _yield(self) -> None:
        self._yielded_at_ms = self._clock.now_ms()
        await self._give_way()

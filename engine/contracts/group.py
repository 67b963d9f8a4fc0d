"""The rows that share one device, as the scheduler sees them."""

from collections.abc import Callable
from typing import Protocol

import msgspec

Release = Callable[[], None]


class MixedDemand(msgspec.Struct, frozen=True):
    """What one unit that decodes and prepares at once needs at least, in tokens."""

    running_tokens: int
    minimum_preparation_tokens: int


class ExecutionGroup(Protocol):
    """Rows over one model. The scheduler's policy loop is the only driver and never has two calls in flight.

    The group owns rows, caches and device; the scheduler owns the order of work. Sizes are rows unless named tokens.
    A row waits (queued), has its prompt read (preparing), then decodes (active). A request's own failure ends that row
    inside the group; what a call raises concerns every row (see `fail_active`, `fail_all`).
    """

    @property
    def closed(self) -> bool:
        """No more work will be driven: the loop ends at the next look."""

    @property
    def admission_held(self) -> bool:
        """An exclusive change to the model waits: drain what runs, admit nothing."""

    @property
    def queued(self) -> int: ...

    @property
    def active(self) -> int: ...

    @property
    def max_active(self) -> int: ...

    @property
    def preparing(self) -> bool: ...

    @property
    def preparing_rows(self) -> int | None:
        """Rows in preparation; None (unknown) counts as one."""

    @property
    def preparing_tokens(self) -> int | None:
        """Prompt tokens in preparation; None counts as zero."""

    @property
    def next_preparation_tokens(self) -> int | None:
        """Prompt tokens of the next queued row; None counts as zero."""

    @property
    def max_preparation_tokens(self) -> int | None:
        """The most prompt tokens that may be in preparation together; None is no limit."""

    @property
    def max_iteration_tokens(self) -> int | None:
        """The most tokens one mixed unit may hold; None is no limit."""

    @property
    def can_prepare_more(self) -> bool:
        """Whether rows may join a preparation under way."""

    @property
    def preparation_published_output(self) -> bool:
        """Whether the last preparation step published a token."""

    @property
    def mixed_preparation(self) -> MixedDemand | None:
        """The demand of a unit that decodes and prepares at once, or None when there is none."""

    @property
    def pending_tasks(self) -> int:
        """Exclusive tasks between units (saving, extracting, scoring) that wait for a turn."""

    @property
    def supports_tasks(self) -> bool:
        """Whether `advance_task` may be called."""

    @property
    def supports_mixed(self) -> bool:
        """Whether `advance_mixed` may be called."""

    @property
    def shares_execution(self) -> bool:
        """Whether the device is shared with other groups, so that `acquire_execution` must be called before work."""

    def prune_cancelled(self) -> None:
        """Drop every row whose session is cancelled, from whichever stage it is in."""

    def reserve_residency(self) -> Release:
        """Pin the model in memory until the returned function is called."""

    def admit_next(self) -> bool:
        """Move the first queued row into preparation or, if it needs none, into the batch. False: it did not take."""

    def can_burst(self) -> bool:
        """Whether one more row may be admitted in this turn."""

    def fail_active(self, error: BaseException) -> None:
        """The decode step failed: end every active row with `error`, and be ready for the next."""

    def fail_all(self, error: BaseException) -> None:
        """The driver ends: end every row with `error`, and refuse what comes later."""

    async def wait_for_work(self) -> None:
        """Return once there is something to do. Level-triggered: work that came before the call counts."""

    async def acquire_execution(self) -> Release:
        """Wait for the device, and return the function that gives it back."""

    async def advance_task(self) -> None:
        """Run one exclusive task's next step."""

    async def advance_mixed(self, token_budget: float) -> None:
        """Decode every active row, then spend the rest of the budget on preparation."""

    async def advance_preparation(self) -> None:
        """Read the next chunk of the prompts in preparation."""

    async def advance(self) -> None:
        """Decode one step of every active row."""

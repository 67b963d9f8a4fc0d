"""The scheduler's questions, each named after its reason; none of them changes anything.

`held` is the hold as the turn has read it. A hold that comes later governs the next look, not half a turn.
"""

import math
from typing import Final

from engine.contracts import ExecutionGroup, MixedDemand

RESPONSIVE_MS: Final = 25.0
"""The longest that a row alone may keep the loop to itself."""


def is_closed(group: ExecutionGroup) -> bool:
    """No more work will be driven. Asked anew after every wait."""
    return group.closed


def became_held(group: ExecutionGroup, held: bool) -> bool:
    """A hold came while the device was waited for, and something might begin that was not held before."""
    return group.admission_held and not held and (group.queued > 0 or has_task(group))


def has_task(group: ExecutionGroup) -> bool:
    """Tasks of a group that cannot run them would keep it from ever being idle."""
    return group.supports_tasks and group.pending_tasks > 0


def is_idle(group: ExecutionGroup, held: bool) -> bool:
    """Nothing runs, and nothing may begin: device and memory can be given back."""
    may_begin = not held and (group.queued > 0 or has_task(group))
    return group.active == 0 and not group.preparing and not may_begin


def may_run_task(group: ExecutionGroup, held: bool) -> bool:
    """A held group drains: an exclusive change to the model waits for it."""
    return not held and has_task(group)


def may_admit(group: ExecutionGroup, held: bool) -> bool:
    """One preparation at a time, and never more rows than the batch holds."""
    return not group.preparing and not held and group.queued > 0 and group.active < group.max_active


def may_grow(group: ExecutionGroup, held: bool) -> bool:
    """A row may join the preparation under way as long as the batch will hold both."""
    if not group.preparing or not group.can_prepare_more or held or group.queued <= 0:
        return False
    preparing = 1 if group.preparing_rows is None else group.preparing_rows
    return group.active + preparing < group.max_active


def fits_preparation(group: ExecutionGroup) -> bool:
    """The next prompt fits beside those in preparation; figures nobody knows do not stand in the way."""
    if group.max_preparation_tokens is None:
        return True
    return (group.preparing_tokens or 0) + (group.next_preparation_tokens or 0) <= group.max_preparation_tokens


def mixed_demand(group: ExecutionGroup) -> MixedDemand | None:
    """What one unit needs that decodes and prepares at once, where the group can and both are due."""
    due = group.supports_mixed and group.preparing and group.active > 0
    return group.mixed_preparation if due else None


def mixed_budget(group: ExecutionGroup, demand: MixedDemand) -> float:
    """The iteration's limit, or what is needed at least: a smaller unit would starve one side."""
    limit = math.inf if group.max_iteration_tokens is None else group.max_iteration_tokens
    return max(limit, demand.running_tokens + demand.minimum_preparation_tokens)


def is_first_row_alone(group: ExecutionGroup, active_before: int) -> bool:
    """A preparation has just ended with the only row there is: its first token should go out before the second."""
    return active_before == 0 and not group.preparing and group.active == 1 and group.queued == 0


def may_keep_the_loop(group: ExecutionGroup, since_yield_ms: float) -> bool:
    """A row alone decodes on without a yield, for as long as nobody notices."""
    alone = group.active == 1 and group.queued == 0 and not group.preparing and not group.admission_held
    return alone and since_yield_ms < RESPONSIVE_MS

"""Each question of the scheduler's policy at the edge of its answer."""

import math

from engine.contracts import MixedDemand
from engine.execution import policy
from tests.engine.execution.fake_group import FakeGroup


async def test_a_group_is_idle_when_nothing_runs_and_nothing_may_begin() -> None:
    group = FakeGroup()
    assert policy.is_idle(group, held=False)

    group.waiting = [1]
    assert not policy.is_idle(group, held=False)
    assert policy.is_idle(group, held=True)

    group.waiting, group.pending_tasks, group.supports_tasks = [], 1, True
    assert not policy.is_idle(group, held=False)
    assert policy.is_idle(group, held=True)

    group.rows = [1]
    assert not policy.is_idle(group, held=True)
    group.rows, group.preparing = [], True
    assert not policy.is_idle(group, held=True)


async def test_a_task_needs_support_and_no_hold() -> None:
    group = FakeGroup()
    group.pending_tasks = 1
    assert not policy.may_run_task(group, held=False)
    group.supports_tasks = True
    assert policy.may_run_task(group, held=False)
    assert not policy.may_run_task(group, held=True)
    group.pending_tasks = 0
    assert not policy.may_run_task(group, held=False)


async def test_one_row_is_admitted_at_a_time_and_never_more_than_the_batch_holds() -> None:
    group = FakeGroup(1, max_active=2)
    group.rows = [1]
    assert policy.may_admit(group, held=False)
    assert not policy.may_admit(group, held=True)

    group.rows = [1, 1]
    assert not policy.may_admit(group, held=False)
    group.rows, group.preparing = [], True
    assert not policy.may_admit(group, held=False)
    group.preparing, group.waiting = False, []
    assert not policy.may_admit(group, held=False)


async def test_a_preparation_grows_only_while_the_batch_will_hold_it() -> None:
    group = FakeGroup(1, max_active=3)
    group.preparing, group.can_prepare_more, group.rows = True, True, [1]
    assert policy.may_grow(group, held=False)
    assert not policy.may_grow(group, held=True)

    group.rows = [1, 1]
    assert not policy.may_grow(group, held=False), "unknown rows count as one"
    group.preparing_rows = 0
    assert policy.may_grow(group, held=False), "zero rows are zero"
    group.preparing_rows = 1
    assert not policy.may_grow(group, held=False)

    group.rows = []
    group.waiting = []
    assert not policy.may_grow(group, held=False)
    group.waiting, group.can_prepare_more = [1], False
    assert not policy.may_grow(group, held=False)
    group.can_prepare_more, group.preparing = True, False
    assert not policy.may_grow(group, held=False)


async def test_a_prompt_fits_up_to_the_exact_limit_and_unknown_figures_do_not_stand_in_the_way() -> None:
    group = FakeGroup()
    group.next_preparation_tokens = 10**9
    assert policy.fits_preparation(group)

    group.max_preparation_tokens, group.preparing_tokens, group.next_preparation_tokens = 10, 4, 6
    assert policy.fits_preparation(group)
    group.next_preparation_tokens = 7
    assert not policy.fits_preparation(group)
    group.preparing_tokens, group.next_preparation_tokens = None, 10
    assert policy.fits_preparation(group)
    group.preparing_tokens, group.next_preparation_tokens = 10, None
    assert policy.fits_preparation(group)
    group.preparing_tokens, group.max_preparation_tokens = 1, 0
    assert not policy.fits_preparation(group)


async def test_mixed_work_needs_support_a_demand_and_both_sides() -> None:
    group, demand = FakeGroup(), MixedDemand(2, 3)
    group.supports_mixed, group.preparing, group.rows, group.mixed_preparation = True, True, [1], demand
    assert policy.mixed_demand(group) is demand

    group.rows = []
    assert policy.mixed_demand(group) is None
    group.rows, group.preparing = [1], False
    assert policy.mixed_demand(group) is None
    group.preparing, group.supports_mixed = True, False
    assert policy.mixed_demand(group) is None


async def test_a_mixed_unit_is_as_large_as_the_limit_or_as_what_it_needs_at_least() -> None:
    group, demand = FakeGroup(), MixedDemand(2, 3)
    assert policy.mixed_budget(group, demand) == math.inf
    group.max_iteration_tokens = 64
    assert policy.mixed_budget(group, demand) == 64
    group.max_iteration_tokens = 0
    assert policy.mixed_budget(group, demand) == 5


async def test_the_first_row_alone_is_one_that_nothing_was_active_before() -> None:
    group = FakeGroup()
    group.rows = [1]
    assert policy.is_first_row_alone(group, active_before=0)
    assert not policy.is_first_row_alone(group, active_before=1)
    group.preparing = True
    assert not policy.is_first_row_alone(group, active_before=0)
    group.preparing, group.waiting = False, [1]
    assert not policy.is_first_row_alone(group, active_before=0)
    group.waiting, group.rows = [], [1, 1]
    assert not policy.is_first_row_alone(group, active_before=0)


async def test_only_a_row_alone_keeps_the_loop_and_for_less_than_25_milliseconds() -> None:
    group = FakeGroup()
    group.rows = [1]
    assert policy.may_keep_the_loop(group, since_yield_ms=24.9)
    assert not policy.may_keep_the_loop(group, since_yield_ms=25)

    group.admission_held = True
    assert not policy.may_keep_the_loop(group, since_yield_ms=0)
    group.admission_held, group.waiting = False, [1]
    assert not policy.may_keep_the_loop(group, since_yield_ms=0)
    group.waiting, group.preparing = [], True
    assert not policy.may_keep_the_loop(group, since_yield_ms=0)
    group.preparing, group.rows = False, [1, 1]
    assert not policy.may_keep_the_loop(group, since_yield_ms=0)
    group.rows = []
    assert not policy.may_keep_the_loop(group, since_yield_ms=0)

"""Cleaning up to the end."""

import asyncio
from typing import Any, NoReturn

import pytest

from engine.runtime.disposal import dispose_all, raise_after_cleanup, raise_together, report, run_all


def broken() -> NoReturn:
    raise ValueError("broke")


def test_every_step_runs_whatever_the_others_do() -> None:
    ran: list[int] = []

    errors = run_all([lambda: ran.append(1), broken, lambda: ran.append(2), broken])

    assert ran == [1, 2]
    assert [str(error) for error in errors] == ["broke", "broke"]


def test_no_error_is_raised_where_none_is() -> None:
    raise_together("nothing", [])
    dispose_all("nothing", list)


def test_one_error_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="broke"):
        dispose_all("one", broken)


def test_several_errors_are_raised_together() -> None:
    with pytest.raises(ExceptionGroup, match="two") as raised:
        dispose_all("two", broken, broken)
    assert len(raised.value.exceptions) == 2


def test_the_first_error_is_raised_and_the_clean_ups_is_its_context() -> None:
    first = KeyError("first")

    with pytest.raises(KeyError) as raised:
        raise_after_cleanup(first, broken)

    assert raised.value is first
    assert str(first.__context__) == "broke"


def test_the_first_error_has_no_context_when_cleaning_up_went_well() -> None:
    first, cleaned = KeyError("first"), list[int]()

    with pytest.raises(KeyError) as raised:
        raise_after_cleanup(first, lambda: cleaned.append(1))

    assert raised.value is first
    assert first.__context__ is None
    assert cleaned == [1]


async def test_errors_that_nobody_awaits_reach_the_loops_exception_handler() -> None:
    contexts: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: contexts.append(context))
    errors = [ValueError("one"), ValueError("two")]

    report("ending", errors)

    assert contexts == [{"message": "ending", "exception": error} for error in errors]


def test_no_loop_is_needed_where_there_is_nothing_to_report() -> None:
    report("ending", [])

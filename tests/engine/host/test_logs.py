"""The log says where something broke, and never what the user wrote."""

import asyncio
import logging
import sys

import pytest

from engine.host.logs import WordlessFormatter, log_unhandled

SECRET = "what the user wrote"


def _fail() -> None:
    raise ExceptionGroup(SECRET, [ValueError(SECRET), TypeError(SECRET)]) from LookupError(SECRET)


def test_an_exception_is_told_by_its_types_and_places_alone() -> None:
    try:
        _fail()
    except ExceptionGroup:
        record = logging.LogRecord("name", logging.ERROR, "", 0, "It broke", (), sys.exc_info())
    text = WordlessFormatter("%(message)s").format(record)
    assert text.startswith("It broke\nExceptionGroup\n")
    assert all(name in text for name in ("ValueError", "TypeError", "caused by", "LookupError", "in _fail"))
    assert SECRET not in text


async def test_a_task_that_nobody_awaited_is_logged_without_its_repr(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise LookupError(SECRET)

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_unhandled)
    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    [record] = caplog.records
    assert record.getMessage() == "Task exception was never retrieved"
    assert SECRET not in record.getMessage()
    assert record.exc_info is not None
    caplog.clear()

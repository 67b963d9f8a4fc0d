"""Begins a coroutine the way JavaScript does: its first part runs at once, the rest in a task."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def begin(coroutine: Coroutine[Any, Any, T], context: Context | None = None) -> asyncio.Future[T]:
    """Run `coroutine` up to its first suspension, in `context` or a copy of the current one."""
    context = context or copy_context()
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()
    try:
        awaited = context.run(coroutine.send, None)
    except StopIteration as stop:
        ended.set_result(stop.value)
    except Exception as error:  # noqa: BLE001 - whoever awaits the result gets it
        ended.set_exception(error)
    else:
        return loop.create_task(_finish(coroutine, awaited), context=context)
    return ended


async def _finish(coroutine: Coroutine[Any, Any, T], awaited: object) -> T:
    return await _resumed(coroutine, awaited)


@types.coroutine
def _resumed(coroutine: Coroutine[Any, Any, T], awaited: object) -> Generator[object, object, T]:
    while True:
        try:
            sent = yield awaited
        except BaseException as error:  # noqa: BLE001 - handed on to the coroutine itself
            step = partial(coroutine.throw, error)
        else:
            step = partial(coroutine.send, sent)
        try:
            awaited = step()
        except StopIteration as stop:
            value: T = stop.value
            return value

"""Cleaning up to the end: every step is tried, then everything that failed is reported."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

Step = Callable[[], object]


def run_all(steps: Iterable[Step]) -> list[Exception]:
    """Run every step in order, whatever the others do, and return what they raised."""
    errors: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - the border of one step: the next must still run
            errors.append(error)
    return errors


def raise_together(message: str, errors: Sequence[Exception]) -> None:
    """Raise one error as it is, several as an `ExceptionGroup` with `message`, none not at all."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(message, errors)


def dispose_all(message: str, *steps: Step) -> None:
    """Run every step, then raise what failed."""
    raise_together(message, run_all(steps))


def report(message: str, errors: Iterable[BaseException]) -> None:
    """Hand errors that nobody awaits to the running loop's exception handler, so that none is lost."""
    for error in errors:
        asyncio.get_running_loop().call_exception_handler({"message": message, "exception": error})


def raise_after_cleanup(error: Exception, *steps: Step) -> NoReturn:
    """Run every step, then raise `error`; what the steps raised is its `__context__`."""
    try:
        dispose_all("cleaning up failed as well", *steps)
    except Exception:  # noqa: BLE001 - the first error is the one to know; the chain shows the others
        raise error  # noqa: B904
    raise error

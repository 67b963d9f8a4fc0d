"""The installation of the starter model in a process of its own, for an engine whose loop must not wait.

Memory, imports and crashes of a conversion stay in that process.
"""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from engine.catalog.discovery import describe_starter
from engine.catalog.install_messages import Advanced, Installed, InstallMessage, Refused, decode_line
from engine.catalog.places import data_root
from engine.catalog.starter import starter_installation
from engine.contracts import Cancellation, ModelDescription, Problem, ProblemError

ReportProgress = Callable[[str, float, float | None], Awaitable[None]]
"""Told the phase (`downloading`, `checking`, `converting`), with the bytes done, out of how many."""

_COMMAND: Final = (sys.executable, "-m", "engine.catalog", "--json")
_PROGRAM: Final = Path(__file__).resolve().parents[2]
_GRACE_SECONDS: Final = 1.5
"""What a stopped process gets to clear away what it began, before it is killed."""


async def install_starter(
    progress: ReportProgress, cancellation: Cancellation, command: Sequence[str] = _COMMAND
) -> ModelDescription:
    """Make sure the starter model is in place; ends at once when it is.

    Owns the process it starts: however this ends, also by a cancelled task, the process has ended before. Raises
    ProblemError with the reason, SessionCancelledError after a cancellation.
    """
    cancellation.raise_if_cancelled()
    installation = starter_installation()
    if not installation.is_complete:
        async with _installing_process(command, cancellation) as process:
            problem = await _follow(process, progress)
        cancellation.raise_if_cancelled()
        if problem is not None:
            raise ProblemError(problem)
    return describe_starter(installation)


async def _follow(process: Process, progress: ReportProgress) -> Problem | None:
    """Report progress until the process ends; returns why it did not succeed, or None."""
    last: InstallMessage | None = None
    assert process.stdout is not None
    async for line in process.stdout:
        try:
            last = decode_line(line)
        except msgspec.MsgspecError:
            break
        if isinstance(last, Advanced):
            await progress(last.phase, last.completed, last.total)
    match last:
        case Installed():
            return None
        case Refused(problem):
            return problem
        case _:
            sentence = "The installation of the starter model ended unexpectedly."
            return Problem(code="install_failed", sentence=sentence, remedy="Try again.")


@contextlib.asynccontextmanager
async def _installing_process(command: Sequence[str], cancellation: Cancellation) -> AsyncIterator[Process]:
    """The process, which a cancellation asks to stop; it has ended when the block has."""
    # It ends when its stdin closes, hence also with this process, and leads a group, so that pip can be reached.
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        cwd=_PROGRAM,
        env={**os.environ, "CANDOR_HOME": str(data_root())},
        start_new_session=True,
    )
    with contextlib.ExitStack() as listening:

        def stop(_reason: str) -> None:
            _signal(process, signal.SIGTERM)
            killing = asyncio.get_running_loop().call_later(_GRACE_SECONDS, _signal, process, signal.SIGKILL)
            listening.callback(killing.cancel)

        listening.callback(cancellation.subscribe(stop))
        try:
            yield process
        finally:
            await _end(process)


async def _end(process: Process) -> None:
    _signal(process, signal.SIGTERM)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                await process.wait()
    finally:
        _signal(process, signal.SIGKILL)
        await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)

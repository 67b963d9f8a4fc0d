"""The engine installs the starter model in another process, which it never outlives or leaves behind."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.catalog.installing import install_starter
from engine.catalog.starter import StarterInstallation
from engine.contracts import REQUESTED, ModelSource, ProblemError, SessionCancelledError
from engine.execution.cancellation import CancellationSource

TELLING = (
    "import os, signal, sys, time; from engine.catalog.install_messages import *; from engine.contracts import Problem;"
)
Told = list[tuple[str, float, float | None]]


def scripted(code: str) -> Sequence[str]:
    return (sys.executable, "-c", TELLING + code)


def telling(message: str) -> str:
    return f"os.write(1, encode_line({message}));"


class Recorder:
    """Takes progress, and says when the first has come."""

    def __init__(self) -> None:
        self.told: Told = []
        self.began = asyncio.Event()

    async def __call__(self, phase: str, completed: float, total: float | None) -> None:
        self.told.append((phase, completed, total))
        self.began.set()


TELLS_ITS_ID = telling("Advanced('downloading', os.getpid(), None)")
WAITS = scripted(TELLS_ITS_ID + "time.sleep(600)")
WAITS_STUBBORNLY = scripted("signal.signal(signal.SIGTERM, signal.SIG_IGN);" + TELLS_ITS_ID + "time.sleep(600)")


def is_running(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


async def test_a_refusal_is_raised_with_its_sentence(candor_home: Path) -> None:
    refused = scripted(telling("Refused(Problem(code='offline', sentence='No way.', remedy='Connect.'))"))
    with pytest.raises(ProblemError) as caught:
        await install_starter(Recorder(), CancellationSource(), refused)

    assert caught.value.problem.code == "offline"


@pytest.mark.parametrize("code", ["sys.exit(3)", "print('noise')", "__import__('os').abort()"])
async def test_a_process_that_ends_without_a_word_is_a_problem(candor_home: Path, code: str) -> None:
    with pytest.raises(ProblemError) as caught:
        await install_starter(Recorder(), CancellationSource(), scripted(code))

    assert caught.value.problem.code == "install_failed"
    assert caught.value.problem.remedy


@pytest.mark.parametrize("command", [WAITS, WAITS_STUBBORNLY])
async def test_a_cancellation_ends_the_process_willing_or_not(candor_home: Path, command: Sequence[str]) -> None:
    recorder, cancellation = Recorder(), CancellationSource()
    installing = asyncio.create_task(install_starter(recorder, cancellation, command))
    await recorder.began.wait()
    cancellation.cancel(REQUESTED)
    with pytest.raises(SessionCancelledError):
        await installing

    assert not is_running(int(recorder.told[0][1]))


async def test_a_cancelled_task_ends_the_process(candor_home: Path) -> None:
    recorder = Recorder()
    installing = asyncio.create_task(install_starter(recorder, CancellationSource(), WAITS))
    await recorder.began.wait()
    installing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await installing

    assert not is_running(int(recorder.told[0][1]))


async def test_nothing_starts_after_a_cancellation(candor_home: Path) -> None:
    cancellation = CancellationSource()
    cancellation.cancel(REQUESTED)
    with pytest.raises(SessionCancelledError):
        await install_starter(Recorder(), cancellation, ("/no/such/command",))


@pytest.mark.starter
async def test_a_model_in_place_starts_no_process(
    starter: StarterInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANDOR_HOME", str(starter.root))
    model = await install_starter(Recorder(), CancellationSource(), ("/no/such/command",))

    assert model.problem is None
    assert model.source is ModelSource.STARTER


@pytest.mark.starter
async def test_the_real_process_converts_the_model_with_progress(starter_file: Path, candor_home: Path) -> None:
    downloads = candor_home / "downloads"
    downloads.mkdir(parents=True)
    shutil.copy(starter_file, downloads)
    recorder = Recorder()
    model = await install_starter(recorder, CancellationSource())

    assert model.problem is None
    assert model.id == str(candor_home / "models" / "smollm2-135m-instruct")
    phases = dict.fromkeys(phase for phase, _, _ in recorder.told)
    assert list(phases) == ["checking", "converting"]
    assert recorder.told[-1][1] == recorder.told[-1][2]


@pytest.mark.starter
async def test_a_conversion_stopped_midway_leaves_nothing_half_made(starter_file: Path, candor_home: Path) -> None:
    downloads = candor_home / "downloads"
    downloads.mkdir(parents=True)
    shutil.copy(starter_file, downloads)
    cancellation = CancellationSource()

    async def stop_midway(phase: str, completed: float, total: float | None) -> None:
        if phase == "converting" and completed > 0:
            cancellation.cancel(REQUESTED)

    with pytest.raises(SessionCancelledError):
        await install_starter(stop_midway, cancellation)

    assert [path.name for path in (candor_home / "models").iterdir()] == [".smollm2-135m-instruct.lock"]


async def test_the_real_process_ends_when_its_starter_goes_away(candor_home: Path) -> None:
    (candor_home / "models").mkdir(parents=True)
    lock = candor_home / "models" / ".smollm2-135m-instruct.lock"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", f"import fcntl, sys; f = open({str(lock)!r}, 'wb'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdin is not None
    assert holder.stdout is not None
    await holder.stdout.readline()
    waiting = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "engine.catalog", "--json", stdin=asyncio.subprocess.PIPE
    )
    assert waiting.stdin is not None
    waiting.stdin.close()

    assert await asyncio.wait_for(waiting.wait(), 10) == 128 + signal.SIGTERM
    holder.stdin.close()
    await holder.wait()

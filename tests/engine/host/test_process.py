"""Real engine processes: how they start, how they end, what they leave behind."""

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from engine.contracts import Completed, Failed, GenerationRequest, Problem, ProblemError
from engine.host.client import EngineClient
from engine.host.launch import PROJECT_ROOT, launch_engine
from tests.engine.contract.run_engine import result
from tests.engine.host.process_end import has_ended_within


def ask(model: str = "tiny", tokens: int = 20) -> GenerationRequest:
    return GenerationRequest(model=model, messages=(), max_tokens=tokens)


@asynccontextmanager
async def launched(engine: str = "process_engine", log: Path | None = None) -> AsyncIterator[EngineClient]:
    """A client with a real process."""
    client = EngineClient(partial(launch_engine, log, f"tests.engine.host.factories:{engine}"))
    try:
        yield client
    finally:
        await client.aclose()


async def assert_answers(client: EngineClient) -> None:
    session = client.generate(ask(tokens=20))
    events = [event async for event in session]
    assert len(events) == 21
    assert await session.outcome() == Completed(result(20), committed_tokens=21)


async def test_a_process_answers_and_closes_in_time_leaving_nothing() -> None:
    async with launched() as client:
        await assert_answers(client)
        pid = client.engine_pid
        started = time.monotonic()
    assert time.monotonic() - started < 2
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_process_that_does_nothing_else_any_more_is_closed_in_time() -> None:
    async with launched() as client:
        session = client.generate(ask("blocked"))
        reader = aiter(session)
        await anext(reader)
        started = time.monotonic()
    assert time.monotonic() - started < 2


async def test_noise_on_standard_output_goes_to_the_log(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "engine.log"
    async with launched("noisy_engine", log) as client:
        session = client.generate(ask(tokens=20))
        assert len([event async for event in session]) == 20
        assert isinstance(await session.outcome(), Completed)
    text = log.read_text()
    assert "noise from Python" in text
    assert "noise from C" in text
    assert "noise on standard error" in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


async def test_the_log_of_the_run_before_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    async with launched("noisy_engine", log) as client:
        await client.wait_started()
        await client.restart()
        await client.wait_started()
    assert set(os.listdir(tmp_path)) == {"engine.log", "engine.previous.log"}  # noqa: PTH208 - nothing waits here
    assert "noise" in (tmp_path / "engine.previous.log").read_text()


@pytest.mark.parametrize(("end", "name"), [(signal.SIGKILL, "killed by the system"), (signal.SIGSEGV, "SIGSEGV")])
async def test_a_killed_engine_fails_its_sessions_and_comes_back(end: signal.Signals, name: str) -> None:
    async with launched() as client:
        told: asyncio.Future[Problem] = asyncio.get_running_loop().create_future()
        client.on_exit(told.set_result)
        session = client.generate(ask("endless"))
        reader = aiter(session)
        await anext(reader)
        assert client.engine_pid is not None
        os.kill(client.engine_pid, end)
        outcome = await session.outcome()
        assert isinstance(outcome, Failed)
        assert outcome.error.problem is not None
        assert outcome.error.problem.code == "engine_stopped"
        assert name in outcome.error.problem.sentence
        assert await told == outcome.error.problem
        await assert_answers(client)


async def test_a_crash_within_the_engine_is_named_and_logged(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    async with launched(log=log) as client:
        session = client.generate(ask("crashing"))
        assert len([event async for event in session]) <= 1
        outcome = await session.outcome()
        assert isinstance(outcome, Failed)
        assert "SIGSEGV" in outcome.error.message
    assert "Fatal Python error: Segmentation fault" in log.read_text()


@pytest.mark.parametrize(
    ("engine", "model"),
    [("process_engine", "endless"), ("process_engine", "blocked"), ("unclosable_engine", "endless")],
)
def test_the_engine_of_a_killed_app_ends_within_a_second(engine: str, model: str) -> None:
    app = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.host.orphan", engine, model], stdout=subprocess.PIPE, cwd=PROJECT_ROOT
    )
    with app:
        assert app.stdout is not None
        pid = int(app.stdout.readline())
        app.kill()
        assert has_ended_within(1.0, pid)


async def test_a_request_to_terminate_ends_in_order() -> None:
    async with launched() as client:
        session = client.generate(ask("endless"))
        reader = aiter(session)
        await anext(reader)
        assert client.engine_pid is not None
        os.kill(client.engine_pid, signal.SIGINT)
        await client.status()
        os.kill(client.engine_pid, signal.SIGTERM)
        outcome = await session.outcome()
        assert getattr(outcome, "reason", outcome) == "engine_closed"


async def test_an_engine_without_its_libraries_says_so() -> None:
    async with launched("no_engine") as client:
        session = client.generate(ask())
        assert [event async for event in session] == []
        outcome = await session.outcome()
        assert isinstance(outcome, Failed)
        assert "libmlx is missing" in outcome.error.message


async def test_a_broken_installation_is_named_by_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise ImportError('half an installation')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    async with launched() as client:
        with pytest.raises(ProblemError) as caught:
            await client.list_models()
    assert caught.value.problem.code == "engine_cannot_start"
    assert "half an installation" in caught.value.problem.sentence


@pytest.mark.parametrize("executable", [shutil.which("false"), "/no/such/python"])
async def test_an_interpreter_that_does_not_run_is_a_problem(executable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    async with launched() as client:
        with pytest.raises(ProblemError) as caught:
            await client.wait_started()
    assert caught.value.problem.code == "engine_cannot_start"


async def test_the_folder_the_app_was_started_in_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("engine", "asyncio"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('a stranger')")
    monkeypatch.chdir(tmp_path)
    async with launched() as client:
        await assert_answers(client)

"""Engines for real engine processes, named on their command line."""

import asyncio
import os
import signal
import sys
import time

from engine.contracts import Cancellation, Engine, GenerationRequest, GenerationResult, Output
from tests.engine.contract.run_engine import RunEngine


class ProcessEngine(RunEngine):
    """Does to its process what model libraries may do. Models: "blocked", "crashing"."""

    async def _speak(self, request: GenerationRequest, cancellation: Cancellation, output: Output) -> GenerationResult:
        await output.commit([0])
        if request.model == "blocked":
            # What the publication made ready goes out before the loop stands still.
            for _ in range(10):
                await asyncio.sleep(0)
            time.sleep(60)  # noqa: ASYNC251 - one forward pass that never returns
        if request.model == "crashing":
            os.kill(os.getpid(), signal.SIGSEGV)
        return await super()._speak(request, cancellation, output)


class NoisyEngine(RunEngine):
    """Prints on standard output wherever it can."""

    async def _speak(self, request: GenerationRequest, cancellation: Cancellation, output: Output) -> GenerationResult:
        shout()
        return await super()._speak(request, cancellation, output)


class UnclosableEngine(RunEngine):
    """Never finishes closing."""

    async def aclose(self) -> None:
        await asyncio.Event().wait()


def shout() -> None:
    """Write on standard output in every way."""
    print("noise from Python", flush=True)  # noqa: T201 - that is the noise
    os.write(1, b"noise from C\n" * 10_000)
    sys.stderr.write("noise on standard error\n")


def process_engine() -> Engine:
    """See `ProcessEngine`."""
    return ProcessEngine()


def noisy_engine() -> Engine:
    """See `NoisyEngine`."""
    shout()
    return NoisyEngine()


def unclosable_engine() -> Engine:
    """See `UnclosableEngine`."""
    return UnclosableEngine()


def no_engine() -> Engine:
    """Cannot be built."""
    raise ImportError("libmlx is missing")

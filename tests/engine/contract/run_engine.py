"""An engine of real sessions whose methods are scripts, chosen by the name of the model."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from engine.contracts import (
    ENGINE_CLOSED,
    Cancellation,
    EngineStatus,
    FinishReason,
    GenerationRequest,
    GenerationResult,
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    ModelDescription,
    ModelSource,
    Output,
    Problem,
    ProblemError,
    PromptFit,
    ScoreRequest,
    ScoreResult,
    TokenLogprobs,
    TokenPiece,
)
from engine.execution.session import GenerationSession, SessionLimits
from engine.runtime.clock import AsyncioClock

R = TypeVar("R")

QUEUED_EVENTS = 8
MODEL = ModelDescription(id="/models/tiny", name="Tiny", source=ModelSource.FOLDER)
MISSING = Problem(code="model_missing", sentence="There is no such model.", remedy="Choose another.")
FULL = Problem(code="disk_full", sentence="The disk is full.")


class ScriptedRun:
    """Runs a script once; hangs in `close` or raises there when told to."""

    output_token_limit = 1_000_000_000

    def __init__(self, engine: "RunEngine", script: Callable[[Output], Awaitable[Any]], model: str) -> None:
        self._engine = engine
        self._script = script
        self._model = model

    async def create_run(self) -> "ScriptedRun":
        return self

    async def release(self) -> None:
        pass

    async def execute(self, output: Output) -> Any:
        return await self._script(output)

    async def close(self) -> None:
        self._engine.closed_runs += 1
        if self._model == "dirty":
            raise OSError("could not clean up")


class RunEngine:
    """Implements `Engine`. A model says `max_tokens` tokens; some do otherwise: see their names."""

    def __init__(self, queued_events: int = QUEUED_EVENTS) -> None:
        self.committed = 0
        self.closed_runs = 0
        self.prepared: list[GenerationRequest | ScoreRequest | LoadRequest | InstallRequest] = []
        self.reasons: list[str] = []
        self.folders: list[tuple[str, ...]] = []
        self.problem: Problem | None = None
        self.closed = False
        self._limits = SessionLimits(max_queued_events=queued_events)
        self._sessions: set[GenerationSession[Any]] = set()

    def generate(self, request: GenerationRequest) -> GenerationSession[GenerationResult]:
        return self._open(request, request.model, partial(self._speak, request))

    def score(self, request: ScoreRequest) -> GenerationSession[ScoreResult]:
        async def script(cancellation: Cancellation, output: Output) -> ScoreResult:
            await output.commit(request.token_ids, [measured(each) for each in request.token_ids])
            return ScoreResult(tokens=len(request.token_ids), seconds=0.5)

        return self._open(request, request.model, script)

    def load(self, request: LoadRequest) -> GenerationSession[LoadResult]:
        async def script(cancellation: Cancellation, output: Output) -> LoadResult:
            for read in (1, 2, 3):
                await output.progress(read, 3, "load")
            return LoadResult(
                model=request.model,
                context_length=512,
                vocabulary_size=99,
                weight_bytes=2**70 if request.model == "huge" else 3,
                load_seconds=0.5,
            )

        return self._open(request, request.model, script)

    def install_starter(self, request: InstallRequest) -> GenerationSession[InstallResult]:
        async def script(cancellation: Cancellation, output: Output) -> InstallResult:
            await output.progress(1, None, "download")
            raise ProblemError(FULL)

        return self._open(request, "starter", script)

    async def list_models(self, folders: Sequence[str] = ()) -> tuple[ModelDescription, ...]:
        self.folders.append(tuple(folders))
        self._raise_problem()
        return (MODEL,)

    async def fit_prompt(self, request: GenerationRequest) -> PromptFit:
        self._raise_problem()
        return PromptFit(prompt_tokens=12, full_tokens=20, limit=16, left_out=(1,))

    async def status(self) -> EngineStatus:
        self._raise_problem()
        return EngineStatus(open_sessions=len(self._sessions), resident_models=(MODEL.id,), device_bytes=2**40)

    async def aclose(self) -> None:
        await asyncio.gather(*(each.cancel(ENGINE_CLOSED) for each in tuple(self._sessions)))
        self.closed = True

    def _raise_problem(self) -> None:
        if self.problem is not None:
            raise ProblemError(self.problem)

    def _open(
        self, request: Any, model: str, script: Callable[[Cancellation, Output], Awaitable[R]]
    ) -> GenerationSession[R]:
        async def prepare(cancellation: Cancellation) -> ScriptedRun:
            self.prepared.append(request)
            cancellation.subscribe(self.reasons.append)
            if model == "missing":
                raise ProblemError(MISSING)
            return ScriptedRun(self, partial(script, cancellation), model)

        session = GenerationSession[R](
            prepare, clock=AsyncioClock(), limits=self._limits, on_terminal=self._sessions.discard
        )
        self._sessions.add(session)
        return session

    async def _speak(self, request: GenerationRequest, cancellation: Cancellation, output: Output) -> GenerationResult:
        if request.model == "silent":
            cancelled = asyncio.Event()
            cancellation.subscribe(lambda _: cancelled.set())
            await cancelled.wait()
        for number in range(10**9 if request.model == "endless" else request.max_tokens or 0):
            await output.commit([number], [measured(number)], [piece(request, number)])
            self.committed += 1
        if request.model == "fails":
            raise ProblemError(FULL)
        return result(request.max_tokens or 0)


def piece(request: GenerationRequest, number: int) -> TokenPiece:
    """Token `number` of the answer to `request`: bytes that no text could carry, and text in two scripts."""
    text = f"{request.messages[0].content if request.messages else ''}é{number}"
    return TokenPiece(id=number, data=b"\xff\xfe" + text.encode(), text=text, start=number, end=number + 1)


def measured(number: int) -> TokenLogprobs:
    """What was measured of token `number`."""
    return TokenLogprobs(logprob=-number / 3, sampled=-math.inf, rank=number)


def result(tokens: int) -> GenerationResult:
    """The figures of an answer of so many tokens."""
    return GenerationResult(
        finish_reason=FinishReason.MAX_TOKENS,
        prompt_tokens=3,
        cached_tokens=1,
        generated_tokens=tokens,
        seed=2**63,
        first_token_seconds=0.1,
        decode_seconds=0.2,
    )

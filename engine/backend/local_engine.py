"""The engine in its own process: sessions over the resident models."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import mlx.core as mx

from engine.backend.errands import Errand
from engine.backend.generation import GenerationPlan, plan_generation
from engine.backend.prompting import fit_prompt
from engine.backend.residents import ResidentModels
from engine.backend.scoring import ScoringPlan, plan_scoring
from engine.catalog.discovery import list_models
from engine.catalog.installing import install_starter
from engine.contracts import (
    ENGINE_CLOSED,
    Cancellation,
    Clock,
    EngineStatus,
    GenerationRequest,
    GenerationResult,
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    ModelDescription,
    Output,
    Prepare,
    PromptFit,
    ScoreRequest,
    ScoreResult,
)
from engine.execution.cancellation import CancellationSource
from engine.execution.session import GenerationSession, SessionLimits

R = TypeVar("R")
LOAD = "load"


class LocalEngine:
    """Implements `Engine` on this process's one thread. Owns the resident models and knows every open session."""

    def __init__(self, residents: ResidentModels, clock: Clock, limits: SessionLimits) -> None:
        self._residents = residents
        self._clock = clock
        self._limits = limits
        self._sessions: set[GenerationSession[Any]] = set()

    def generate(self, request: GenerationRequest) -> GenerationSession[GenerationResult]:
        async def prepare(cancellation: Cancellation) -> GenerationPlan:
            return await plan_generation(self._residents, self._clock, request, cancellation)

        return self._open(prepare)

    def score(self, request: ScoreRequest) -> GenerationSession[ScoreResult]:
        async def prepare(cancellation: Cancellation) -> ScoringPlan:
            return await plan_scoring(self._residents, self._clock, request, cancellation)

        return self._open(prepare)

    def load(self, request: LoadRequest) -> GenerationSession[LoadResult]:
        async def prepare(cancellation: Cancellation) -> Errand[LoadResult]:
            return Errand(lambda output: self._load(request.model, output, cancellation))

        return self._open(prepare)

    def install_starter(self, request: InstallRequest) -> GenerationSession[InstallResult]:  # noqa: ARG002
        async def prepare(cancellation: Cancellation) -> Errand[InstallResult]:
            return Errand(lambda output: _install(output, cancellation))

        return self._open(prepare)

    async def list_models(self, folders: Sequence[str] = ()) -> tuple[ModelDescription, ...]:
        return list_models([Path(folder) for folder in folders])

    async def fit_prompt(self, request: GenerationRequest) -> PromptFit:
        resident = await self._residents.obtain(request.model, CancellationSource())
        return (await fit_prompt(resident, request)).fit

    async def status(self) -> EngineStatus:
        groups = [resident.group for resident in self._residents]
        return EngineStatus(
            queued_rows=sum(group.queued for group in groups),
            preparing_rows=sum(group.preparing_rows or 0 for group in groups),
            active_rows=sum(group.active for group in groups),
            open_sessions=len(self._sessions),
            resident_models=tuple(str(resident.loaded.folder) for resident in self._residents),
            device_bytes=mx.get_active_memory(),
        )

    async def aclose(self) -> None:
        await asyncio.gather(*(session.cancel(ENGINE_CLOSED) for session in tuple(self._sessions)))
        await self._residents.aclose()

    def _open(self, prepare: Prepare[R]) -> GenerationSession[R]:
        session = GenerationSession(prepare, clock=self._clock, limits=self._limits, on_terminal=self._sessions.discard)
        self._sessions.add(session)
        return session

    async def _load(self, model: str, output: Output, cancellation: Cancellation) -> LoadResult:
        started_ms = self._clock.now_ms()
        was_resident = self._residents.find(model) is not None

        async def progress(read: float, total: float) -> None:
            await output.progress(read, total, LOAD)

        resident = await self._residents.obtain(model, cancellation, progress)
        loaded = resident.loaded
        return LoadResult(
            model=model,
            context_length=loaded.context_length,
            vocabulary_size=loaded.vocabulary_size,
            weight_bytes=loaded.weight_bytes,
            sampling_defaults=loaded.sampling_defaults,
            load_seconds=0.0 if was_resident else (self._clock.now_ms() - started_ms) / 1000,
        )


async def _install(output: Output, cancellation: Cancellation) -> InstallResult:
    async def progress(phase: str, completed: float, total: float | None) -> None:
        await output.progress(completed, total, phase)

    return InstallResult(await install_starter(progress, cancellation))

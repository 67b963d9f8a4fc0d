"""The engine as its users see it, in the same process or over the wire."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from engine.contracts.models import (
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    ModelDescription,
)
from engine.contracts.outcomes import GenerationResult, ScoreResult
from engine.contracts.requests import GenerationRequest, PromptFit, ScoreRequest
from engine.contracts.session import Session


class EngineStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine does at this moment, summed over resident models. Memory is bytes held by the device."""

    queued_rows: int = 0
    preparing_rows: int = 0
    active_rows: int = 0
    open_sessions: int = 0
    resident_models: tuple[str, ...] = ()
    device_bytes: int = 0

    @property
    def is_idle(self) -> bool:
        """No row is waiting, being prepared or decoding."""
        return self.queued_rows + self.preparing_rows + self.active_rows == 0


class Engine(Protocol):
    """Serves any number of sessions at once. Closing it cancels them all and returns when nothing runs.

    Opening a session never blocks or raises for bad input: the outcome says what was wrong. The caller owns the
    sessions it opens. One loop owns the engine; calls from other threads are not allowed.
    """

    def generate(self, request: GenerationRequest) -> Session[GenerationResult]:
        """Answer `request`; loads the model first when it is not resident."""

    def score(self, request: ScoreRequest) -> Session[ScoreResult]:
        """Measure given tokens; runs as a row beside the others."""

    def load(self, request: LoadRequest) -> Session[LoadResult]:
        """Make a model resident, with progress."""

    def install_starter(self, request: InstallRequest) -> Session[InstallResult]:
        """Fetch and convert the starter model, with progress; ends at once when it is in place."""

    async def list_models(self, folders: Sequence[str] = ()) -> tuple[ModelDescription, ...]:
        """Every model known: the starter, Candor's own, the Hugging Face cache, then `folders` the user opened."""

    async def fit_prompt(self, request: GenerationRequest) -> PromptFit:
        """How the request's conversation fits, before anything is sent; loads the model when it is not resident.

        Raises `ProblemError`: what loading and the template say, and `context_full` when it cannot be sent at all.
        """

    async def status(self) -> EngineStatus: ...

    async def aclose(self) -> None: ...

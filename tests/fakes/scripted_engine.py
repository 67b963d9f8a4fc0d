"""An engine that says what the test tells it."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from engine.contracts import (
    ENGINE_CLOSED,
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
    Problem,
    ProblemError,
    PromptFit,
    ScoreRequest,
    ScoreResult,
    SessionState,
)
from tests.fakes.scripted_session import ScriptedSession

STARTER = ModelDescription(
    id="/models/starter",
    name="Starter",
    source=ModelSource.STARTER,
    family="llama",
    weight_bytes=98_000_000,
    context_length=8192,
)


class ScriptedGeneration(ScriptedSession[GenerationRequest, GenerationResult]):
    """An answer the test speaks."""

    async def ends(self, reason: FinishReason = FinishReason.END_OF_TURN) -> None:
        """Complete with plausible figures."""
        await self.finishes(
            GenerationResult(
                finish_reason=reason,
                prompt_tokens=12,
                cached_tokens=0,
                generated_tokens=self._writer.token_count,
                seed=7,
                first_token_seconds=0.25,
                decode_seconds=1.0,
            )
        )


class ScriptedScoring(ScriptedSession[ScoreRequest, ScoreResult]):
    """A scoring the test speaks."""

    async def ends(self) -> None:
        """Complete with plausible figures."""
        await self.finishes(ScoreResult(tokens=self._writer.token_count, seconds=0.5))


class ScriptedLoad(ScriptedSession[LoadRequest, LoadResult]):
    """A load the test drives."""

    async def ends(self) -> None:
        """Complete with plausible figures."""
        await self.finishes(loaded(await self.started()))


class ScriptedInstall(ScriptedSession[InstallRequest, InstallResult]):
    """An installation of the starter model the test drives."""

    async def ends(self) -> None:
        """Complete with the starter model."""
        await self.finishes(InstallResult(STARTER))


S = TypeVar("S", bound=ScriptedSession[Any, Any])


class Lane(Generic[S]):
    """The sessions of one kind, in the order the app opened them, with the one to come."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self._to_come = kind()
        self.opened: list[S] = []

    def take(self, request: object) -> S:
        """Hand the session to come to the app."""
        session, self._to_come = self._to_come, self._kind()
        self.opened.append(session)
        session.open_with(request)
        return session

    @property
    def current(self) -> S:
        """The newest session that has not ended; with none, the one to come."""
        under_way = [each for each in self.opened if each.state is not SessionState.TERMINAL]
        return under_way[-1] if under_way else self._to_come


class ScriptedEngine:
    """Implements `contracts.Engine`; a test speaks through `session`, `loading` and `installation`.

    await engine.session.says("Once upon")      the words have reached the app when this returns
    await engine.session.ends()

    `sessions`, `loads` and `installations` keep every session opened. Loads and installations complete by themselves
    when `loads_at_once`.
    """

    def __init__(self, models: Sequence[ModelDescription] = (STARTER,), *, loads_at_once: bool = True) -> None:
        self.models = tuple(models)
        self.folders: list[tuple[str, ...]] = []
        """The folders of every call of `list_models`."""
        self.problem: Problem | None = None
        """Set: calls raise it."""
        self.closed = False
        self._loads_at_once = loads_at_once
        self._generations = Lane(ScriptedGeneration)
        self._scorings = Lane(ScriptedScoring)
        self._loads = Lane(ScriptedLoad)
        self._installations = Lane(ScriptedInstall)

    @property
    def session(self) -> ScriptedGeneration:
        """The answer under way, or the one the app will ask for next."""
        return self._generations.current

    @property
    def scoring(self) -> ScriptedScoring:
        """The scoring under way, or the next."""
        return self._scorings.current

    @property
    def loading(self) -> ScriptedLoad:
        """The load under way, or the next."""
        return self._loads.current

    @property
    def installation(self) -> ScriptedInstall:
        """The installation under way, or the next."""
        return self._installations.current

    @property
    def sessions(self) -> Sequence[ScriptedGeneration]:
        """Every answer asked for."""
        return self._generations.opened

    @property
    def loads(self) -> Sequence[ScriptedLoad]:
        """Every load asked for."""
        return self._loads.opened

    @property
    def installations(self) -> Sequence[ScriptedInstall]:
        """Every installation asked for."""
        return self._installations.opened

    def generate(self, request: GenerationRequest) -> ScriptedGeneration:
        return self._generations.take(request)

    def score(self, request: ScoreRequest) -> ScriptedScoring:
        return self._scorings.take(request)

    def load(self, request: LoadRequest) -> ScriptedLoad:
        session = self._loads.take(request)
        if self._loads_at_once:
            session.completes_at_once(loaded(request))
        return session

    def install_starter(self, request: InstallRequest) -> ScriptedInstall:
        session = self._installations.take(request)
        if self._loads_at_once:
            session.completes_at_once(InstallResult(STARTER))
        return session

    async def list_models(self, folders: Sequence[str] = ()) -> tuple[ModelDescription, ...]:
        self.folders.append(tuple(folders))
        if self.problem is not None:
            raise ProblemError(self.problem)
        return self.models

    async def fit_prompt(self, request: GenerationRequest) -> PromptFit:
        return PromptFit(prompt_tokens=12, full_tokens=20, limit=16, left_out=(1,))

    async def status(self) -> EngineStatus:
        if self.problem is not None:
            raise ProblemError(self.problem)
        active = [each for each in self.sessions if each.state in (SessionState.PREPARING, SessionState.RUNNING)]
        return EngineStatus(active_rows=len(active), open_sessions=len(self._open_sessions()))

    async def aclose(self) -> None:
        for session in self._open_sessions():
            await session.cancel(ENGINE_CLOSED)
        self.closed = True

    def _open_sessions(self) -> list[ScriptedSession[Any, Any]]:
        every: list[ScriptedSession[Any, Any]] = [
            *self.sessions,
            *self._scorings.opened,
            *self.loads,
            *self.installations,
        ]
        return [each for each in every if each.state is not SessionState.TERMINAL]


def loaded(request: LoadRequest) -> LoadResult:
    """A result for `request`, with plausible figures."""
    return LoadResult(
        model=request.model, context_length=8192, vocabulary_size=49_152, weight_bytes=98_000_000, load_seconds=0.5
    )

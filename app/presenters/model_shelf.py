"""The models of this machine, shared by all tabs."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, assert_never

from app.presenters.phases import Idle, Loading, Phase, Working, phase_of
from app.presenters.ports import Tasks
from app.presenters.remedies import CANNOT_START, ENGINE_STUCK, NO_MODEL, NO_MODEL_IN_FOLDER, Remedy, problem_of
from app.settings.declarations import DEFAULT_MODEL, MODEL_FOLDERS
from app.settings.settings import Settings
from engine.contracts import (
    Cancelled,
    Completed,
    Engine,
    Failed,
    InstallRequest,
    LoadRequest,
    ModelDescription,
    ModelSource,
    Problem,
    ProblemError,
    Progress,
    Session,
    Unsubscribe,
)

RestartEngine = Callable[[], Awaitable[None]]
"""Ends the engine, cancelling its sessions as `engine_closed`, and launches another."""


class ModelShelf:
    """Lists models, installs the starter, loads a model ahead of its first use; tells every listener of each change.

    `phase` is what it is doing; `problem` is why there is nothing to choose from, with a `remedy` to apply, or None.
    Without `restart_engine`, an engine that is stuck can only be waited for.
    """

    def __init__(
        self, engine: Engine, settings: Settings, tasks: Tasks, restart_engine: RestartEngine | None = None
    ) -> None:
        self._engine = engine
        self._restart_engine = restart_engine
        self._settings = settings
        self._tasks = tasks
        self._listeners: dict[object, Callable[[], None]] = {}
        self.models: tuple[ModelDescription, ...] = ()
        self._resident: set[str] = set()
        self._is_listing = False
        self.phase: Phase = Idle()
        self.problem: Problem | None = None
        self.remedy: Remedy | None = None

    def subscribe(self, listener: Callable[[], None]) -> Unsubscribe:
        """Call `listener` after every change, until what is returned is called, any number of times."""
        token = object()
        self._listeners[token] = listener

        def unsubscribe() -> None:
            self._listeners.pop(token, None)

        return unsubscribe

    def choose(self, wanted: str | None) -> ModelDescription | None:
        """The usable model with the id `wanted`; else the user's default, else the starter, else the first."""
        usable = [model for model in self.models if model.problem is None]
        by_id = {model.id: model for model in usable}
        starter = next((model for model in usable if model.source is ModelSource.STARTER), None)
        preferred = by_id.get(wanted or "") or by_id.get(self._settings[DEFAULT_MODEL] or "")
        return preferred or starter or next(iter(usable), None)

    def is_resident(self, model: str) -> bool:
        """Whether the engine that runs has had `model` in memory; it may have made room for another since."""
        return model in self._resident

    def note_resident(self, model: str) -> None:
        """An answer tells that `model` is in memory."""
        self._resident.add(model)

    def refresh_soon(self) -> None:
        """Ask the engine again, unless it is being asked; starts it when it does not run."""
        if not self._is_listing:
            self._is_listing = True
            self._tasks.start(self.refresh(), "list models")

    def bring_back(self) -> None:
        """The engine ended by itself: start another, unless it ended because it cannot start."""
        self._resident.clear()
        if self.problem in (None, ENGINE_STUCK):
            self.refresh_soon()

    def engine_stuck(self) -> None:
        """The engine does not end what it was told to end: offer another."""
        self._change(self.phase, ENGINE_STUCK, Remedy.RESTART_ENGINE if self._restart_engine else None)

    def engine_answered(self) -> None:
        """It is not stuck, or no longer."""
        if self.problem is ENGINE_STUCK:
            self._change(self.phase)

    async def refresh(self) -> None:
        """Ask the engine again, and return when the answer is on the shelf."""
        await self._list(self._settings[MODEL_FOLDERS])

    async def _list(self, folders: tuple[str, ...]) -> None:
        self._change(Working("starting the engine"))
        self._is_listing = True
        try:
            self.models = await self._models_in(folders)
        except ProblemError as error:
            self._change(Idle(), error.problem, Remedy.TRY_AGAIN)
        else:
            self._change(Idle(), *((None, None) if self.choose(None) else (NO_MODEL, Remedy.GET_STARTER)))
        finally:
            self._is_listing = False

    async def _models_in(self, folders: tuple[str, ...]) -> tuple[ModelDescription, ...]:
        """A start-up may be killed for want of memory that is free a moment later: one more is tried unasked."""
        try:
            return await self._engine.list_models(folders)
        except ProblemError as error:
            if error.problem.code != CANNOT_START:
                raise
        return await self._engine.list_models(folders)

    async def open_folder(self, folder: str) -> str | None:
        """Remember `folder`, and answer the id of a usable model found there; None: the engine could not be asked.

        Raises `ProblemError` when no model in it can be used, or the folder cannot be kept.
        """
        known = self._settings[MODEL_FOLDERS]
        folders = known if folder in known else (*known, folder)
        await self._list(folders)
        found = [model for model in self.models if Path(model.id).is_relative_to(folder)]
        usable = [model.id for model in found if model.problem is None]
        if usable:
            self._settings[MODEL_FOLDERS] = folders
        elif self.remedy is not Remedy.TRY_AGAIN:
            problem = next((model.problem for model in found if model.problem), NO_MODEL_IN_FOLDER)
            if self.problem is NO_MODEL:
                # Else the banner would go on saying only that there is none.
                self._change(Idle(), problem, self.remedy)
            raise ProblemError(problem)
        return next(iter(usable), None)

    def problem_with(self, model: str) -> Problem | None:
        """Why the model with the id `model` cannot be used, as far as is known."""
        return next((each.problem for each in self.models if each.id == model), None)

    async def apply(self, remedy: Remedy) -> None:
        """Do what the button says."""
        match remedy:
            case Remedy.GET_STARTER:
                await self.install_starter()
            case Remedy.TRY_AGAIN:
                await self.refresh()
            case Remedy.RESTART_ENGINE:
                await self._restart()
            case _:
                assert_never(remedy)

    async def _restart(self) -> None:
        if self._restart_engine is not None:
            self._change(Working("restarting the engine"))
            self._resident.clear()
            await self._restart_engine()
            await self.refresh()

    async def install_starter(self) -> None:
        """Fetch and convert the starter model, then list again."""
        self._change(Working("getting the starter model"))
        session = self._engine.install_starter(InstallRequest())
        problem = await self._follow(session, lambda progress: phase_of(progress, ""))
        if problem is None:
            await self.refresh()
        else:
            self._change(Idle(), problem, Remedy.GET_STARTER)

    async def load_ahead(self, model: ModelDescription) -> None:
        """Make `model` resident. What goes wrong is said when it is asked for an answer."""
        self._change(Loading(model.name), self.problem, self.remedy)
        session = self._engine.load(LoadRequest(model.id))
        if await self._follow(session, lambda progress: phase_of(progress, model.name)) is None:
            self.note_resident(model.id)
        self._change(Idle(), self.problem, self.remedy)

    async def _follow(self, session: Session[Any], shown: Callable[[Progress], Phase]) -> Problem | None:
        """Show the session's progress; the problem it ended with, or None."""
        async with session:
            async for event in session:
                if isinstance(event, Progress):
                    self._change(shown(event), self.problem, self.remedy)
            outcome = await session.outcome()
        match outcome:
            case Completed() | Cancelled():
                return None
            case Failed(error):
                return problem_of(error)

    def _change(self, phase: Phase, problem: Problem | None = None, remedy: Remedy | None = None) -> None:
        self.phase, self.problem, self.remedy = phase, problem, remedy
        for listener in tuple(self._listeners.values()):
            listener()

"""What a tab shows around its conversation."""

from collections.abc import Callable, Sequence

from app.presenters.model_shelf import ModelShelf
from app.presenters.nobody import Nobody
from app.presenters.phases import Answering, Idle, Loading, Phase, Reading, Waiting, status_text
from app.presenters.views import ChatView
from engine.contracts import ModelDescription, Problem

CHOOSE_HINT = "Choose a model first."


class Board:
    """The models, the status line, the Send button and the banner of one tab, kept true as the shelf changes.

    `wanted` answers the id of the model chosen for the chat, or None. `lasting` is the problem that stays, whatever
    comes and goes, or None.
    """

    def __init__(
        self,
        view: ChatView,
        shelf: ModelShelf,
        wanted: Callable[[], str | None],
        problem: Problem | None,
        lasting: Callable[[], Problem | None],
    ) -> None:
        self._view = view
        self._shelf = shelf
        self._wanted = wanted
        self._problem = problem
        self._lasting = lasting
        self._banner: tuple[Problem | None, str] = (None, "")
        self._listed: tuple[Sequence[ModelDescription], str | None] = ((), None)
        self._phase: Phase = Idle()
        self._answering: ModelDescription | None = None
        self._unsubscribe = shelf.subscribe(self.show)

    @property
    def model(self) -> ModelDescription | None:
        """The model that answers next; None: there is none. One that was shown stays until another is wanted."""
        _, shown = self._listed
        return self._shelf.choose(self._wanted() or shown)

    @property
    def missing_model_hint(self) -> str:
        """Why there is no model, as the status line says it."""
        return status_text(self._shelf.phase) or CHOOSE_HINT

    def show(self) -> None:
        """Tell the view everything."""
        model = self.model
        self._show_models(self._shelf.models, model.id if model else None)
        self._view.show_send_enabled(model is not None, "" if model else self.missing_model_hint)
        self._show_status()
        self._show_banner()

    def show_answering(self, model: ModelDescription | None) -> None:
        """An answer of `model` is under way; None: no longer."""
        self._answering = model
        self._view.show_generating(model is not None)

    def show_phase(self, phase: Phase) -> None:
        self._phase = phase
        if self._answering is not None and isinstance(phase, Reading | Answering):
            self._shelf.note_resident(self._answering.id)
        self._show_status()

    def show_hint(self, hint: str) -> None:
        """Say `hint` until something happens."""
        self._view.show_status(hint)

    def show_problem(self, problem: Problem | None) -> None:
        self._problem = problem
        self._show_banner()

    def close(self) -> None:
        """The tab is gone. Idempotent."""
        self._unsubscribe()
        self._view = Nobody()

    def _show_models(self, models: Sequence[ModelDescription], selected: str | None) -> None:
        """Only when they changed: the user may have the list open while a model loads."""
        if (models, selected) != self._listed:
            self._listed = (models, selected)
            self._view.show_models(models, selected)

    def _show_status(self) -> None:
        """What the shelf does tells more than that the tab is waiting for it."""
        is_telling = self._answering is not None and not isinstance(self._phase, Waiting)
        own = is_telling or isinstance(self._shelf.phase, Idle)
        self._view.show_status(status_text(self._own_phase() if own else self._shelf.phase))

    def _own_phase(self) -> Phase:
        """The engine says nothing while it loads a model for an answer, which is most of such a wait."""
        model = self._answering
        if model is None or self._shelf.is_resident(model.id) or not isinstance(self._phase, Waiting):
            return self._phase
        return Loading(model.name)

    def _show_banner(self) -> None:
        """What concerns every tab comes first: nothing else works before it is solved. The user may dismiss it."""
        remedy = self._shelf.remedy or ""
        own = self._problem or self._lasting()
        banner = (own, "") if self._shelf.problem is None else (self._shelf.problem, str(remedy))
        if banner != self._banner:
            self._banner = banner
            self._view.show_problem(*banner)

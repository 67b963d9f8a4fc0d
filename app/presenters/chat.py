"""One tab's conversation between the user, the store and the engine."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.chats.conversation import Conversation, Exchange
from app.chats.titles import UNTITLED
from app.chats.tree import ChatId, TurnState
from app.presenters.answer import Answer
from app.presenters.draft_keeper import DraftKeeper
from app.presenters.nobody import Nobody
from app.presenters.phases import Idle, Phase, status_text
from app.presenters.requests import request_for
from app.presenters.services import Services
from app.presenters.token_saver import Ending, TokenSaver
from app.presenters.transcript import key_of, show_branch
from app.presenters.views import ChatView
from engine.contracts import ModelDescription, Problem, ProblemError

BLANK_HINT = "Write a message first."
CHOOSE_HINT = "Choose a model first."
BUSY_HINT = "Wait for the answer, or stop it."


class ChatPresenter:
    """Owns one conversation and its session; one answer runs at a time.

    `changed` is called when the title or the place in the store changes. Confined to the app's loop.
    """

    def __init__(
        self, view: ChatView, services: Services, conversation: Conversation, changed: Callable[[], None]
    ) -> None:
        self._view = view
        self._services = services
        self._conversation = conversation
        self._changed = changed
        self._draft = DraftKeeper(conversation, services.clock)
        self._phase: Phase = Idle()
        self._problem = services.store.problem
        self._answer: Answer | None = None
        self._finished = asyncio.Event()
        self._finished.set()
        self._is_drawn = False
        self._unsubscribe = services.shelf.subscribe(self._show_models)

    @property
    def title(self) -> str:
        return self._conversation.title or UNTITLED

    @property
    def chat_id(self) -> ChatId | None:
        """None until there is something to store."""
        return self._conversation.chat_id

    def show(self) -> None:
        """Put the conversation on the screen, once: a tab that nobody has looked at costs nothing."""
        if not self._is_drawn:
            self._draw()
            self._show_models()

    def send_soon(self, text: str) -> "asyncio.Task[None]":
        """Send `text`; the task ends with the answer."""
        return self._services.tasks.start(self.send(text), "send")

    async def send(self, text: str) -> None:
        """Store and show `text`, then have it answered. What cannot be sent stays in the composer, with the reason."""
        self._draft.change("")
        # Lone surrogates, which Qt lets through, can be neither stored nor sent.
        text = text.encode("utf-8", "replace").decode()
        model = self._model()
        refusal = self._refusal(text, model)
        if refusal or model is None:
            self._give_back(text)
            self._view.show_status(refusal)
            return
        self.show()
        try:
            exchange = self._conversation.ask(text, model.id)
        except ProblemError as error:
            self._give_back(text)
            self._show_problem(error.problem)
        else:
            self._show_exchange(exchange)
            await self._have_answered(exchange, model)

    async def stop(self) -> None:
        """End the answer under way and return when the engine has; what is written stays."""
        if self._answer is not None:
            await self._answer.stop()

    def change_draft(self, text: str) -> None:
        self._draft.change(text)

    def choose_model(self, model: str) -> None:
        """Use `model` for this chat's next answers."""
        with self._reporting():
            self._conversation.choose_model(model)
        self._show_models()

    async def open_folder(self, folder: str) -> None:
        """Add the models in `folder`, and choose one of them."""
        with self._reporting():
            if (found := await self._services.shelf.open_folder(folder)) is not None:
                self._conversation.choose_model(found)
        self._show_models()

    async def apply_remedy(self) -> None:
        """Do what the button beside the problem says."""
        self._problem = None
        if (remedy := self._services.shelf.remedy) is not None:
            await self._services.shelf.apply(remedy)

    def engine_ended(self, problem: Problem) -> None:
        """A tab with an answer under way hears it from its session."""
        if self._answer is None:
            self._show_problem(problem)

    async def close(self) -> None:
        """The tab is gone: keep the draft, end the session, and return when nothing of it runs. Idempotent."""
        self._view = Nobody()
        self._draft.keep()
        self._unsubscribe()
        if self._answer is not None:
            await self._answer.close()
        await self._finished.wait()

    def _refusal(self, text: str, model: ModelDescription | None) -> str:
        """Why `text` cannot be sent now; empty when it can."""
        if not text.strip():
            return BLANK_HINT
        if self._answer is not None:
            return BUSY_HINT
        return "" if model is not None else self._missing_model_hint()

    def _missing_model_hint(self) -> str:
        return status_text(self._services.shelf.phase) or CHOOSE_HINT

    def _model(self) -> ModelDescription | None:
        return self._services.shelf.choose(self._conversation.model)

    async def _have_answered(self, exchange: Exchange, model: ModelDescription) -> None:
        services = self._services
        request = request_for(model.id, self._conversation.branch, services.settings)
        saver = TokenSaver(services.store, exchange.answer.id, services.clock, self._show_problem)
        answer = Answer(
            services.engine.generate(request),
            key_of(exchange.answer.id),
            model.name,
            self._view,
            saver,
            services.clock,
            self._show_phase,
        )
        self._answer = answer
        self._finished.clear()
        self._view.show_generating(True)
        ending = Ending(TurnState.INTERRUPTED)
        try:
            ending = await answer.follow()
        finally:
            self._answer = None
            self._conversation.end_answer(exchange.answer, ending.state, answer.pieces)
            self._finished.set()
            self._view.show_generating(False)
        if ending.problem is not None:
            self._fail(exchange, ending.problem, has_begun=bool(answer.pieces))

    def _fail(self, exchange: Exchange, problem: Problem, *, has_begun: bool) -> None:
        self._show_problem(problem)
        if problem.code.startswith(("engine_", "model_")):
            # Starts the engine again when it died, and takes away a model that is gone.
            self._services.shelf.refresh_soon()
        if not has_begun:
            self._withdraw(exchange)

    def _withdraw(self, exchange: Exchange) -> None:
        """A message that got no word of an answer goes back to the composer, and out of what the model is told.

        It stays on the screen until the next one is sent: a message that is too long for the model would otherwise
        spoil all that follow.
        """
        with self._reporting():
            self._conversation.withdraw(exchange.question)
            self._is_drawn = False
        self._give_back(exchange.question.text)

    def _give_back(self, text: str) -> None:
        """The composer empties itself when it sends; what the user has begun to write since then stays."""
        if not self._draft.draft:
            self._view.show_draft(text)
            self._draft.change(text)

    def _draw(self) -> None:
        with self._reporting():
            show_branch(self._view, self._conversation.branch, self._services.store)
            self._view.show_draft(self._draft.draft)
            self._is_drawn = True

    def _show_exchange(self, exchange: Exchange) -> None:
        question, answer = exchange
        self._view.begin_message(key_of(question.id), question.role, question.text)
        self._view.end_message(key_of(question.id))
        self._view.begin_message(key_of(answer.id), answer.role)
        self._show_problem(None)
        self._changed()

    def _show_phase(self, phase: Phase) -> None:
        self._phase = phase
        self._show_status()

    def _show_status(self) -> None:
        shelf = self._services.shelf.phase
        busy = self._answer is not None or isinstance(shelf, Idle)
        self._view.show_status(status_text(self._phase if busy else shelf))

    def _show_models(self) -> None:
        """The shelf changed, or the choice did."""
        model = self._model()
        self._view.show_models(self._services.shelf.models, model.id if model else None)
        self._view.show_send_enabled(model is not None, "" if model else self._missing_model_hint())
        self._show_status()
        self._show_banner()

    def _show_problem(self, problem: Problem | None) -> None:
        self._problem = problem
        self._show_banner()

    def _show_banner(self) -> None:
        """What concerns every tab comes first: nothing else works before it is solved."""
        shelf = self._services.shelf
        if shelf.problem is not None:
            self._view.show_problem(shelf.problem, shelf.remedy or "")
        else:
            self._view.show_problem(self._problem)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """A problem of the store or the settings goes to the screen, and ends there."""
        try:
            yield
        except ProblemError as error:
            self._show_problem(error.problem)

"""One tab's conversation between the user, the store and the engine."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.chats.conversation import Conversation, Exchange
from app.chats.titles import UNTITLED
from app.chats.tree import ChatId, TurnState
from app.presenters.answer import Answer
from app.presenters.board import Board
from app.presenters.draft_keeper import DraftKeeper
from app.presenters.nobody import Nobody
from app.presenters.requests import request_for
from app.presenters.services import Services
from app.presenters.token_saver import Ending, TokenSaver
from app.presenters.transcript import key_of, show_branch
from app.presenters.views import ChatView
from app.settings.declarations import DEFAULT_MODEL
from engine.contracts import ModelDescription, Problem, ProblemError

BLANK_HINT = "Write a message first."
STOP_MS = 5000
"""An engine that has not stopped by then is stuck: it looks for a Stop between any two steps."""
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
        self._draft = DraftKeeper(conversation, services.clock, changed)
        store, settings = services.store, services.settings
        problem = store.problem or settings.problem
        self._board = Board(view, services.shelf, lambda: conversation.model, problem, lambda: store.problem)
        self._answer: Answer | None = None
        self._finished = asyncio.Event()
        self._finished.set()
        self._is_drawn = False

    @property
    def title(self) -> str:
        return self._conversation.title or UNTITLED

    @property
    def chat_id(self) -> ChatId | None:
        """None until there is something to store."""
        return self._conversation.chat_id

    def show(self) -> None:
        """The tab is in front. A conversation that nobody has looked at costs nothing before."""
        self._draw()
        self._view.focus_composer()

    def _draw(self) -> None:
        """Put the conversation on the screen, unless it is there."""
        if not self._is_drawn:
            with self._reporting():
                show_branch(self._view, self._conversation.branch, self._services.store)
                self._is_drawn = True
            self._view.show_draft(self._draft.draft)
            self._board.show()

    def send_soon(self, text: str) -> "asyncio.Task[None]":
        """Send `text`; the task ends with the answer."""
        return self._services.tasks.start(self.send(text), "send")

    async def send(self, text: str) -> None:
        """Store and show `text`, then have it answered. What cannot be sent stays in the composer, with the reason."""
        # The composer has emptied itself.
        self._draft.change("")
        # Lone surrogates, which Qt lets through, can be neither stored nor sent.
        text = text.encode("utf-8", "replace").decode()
        model = self._board.model
        if model is None or self._answer is not None or not text.strip():
            self._give_back(text)
            self._board.show_hint(self._refusal(text, model))
            return
        self._draw()
        try:
            exchange = self._conversation.ask(text, model.id)
        except ProblemError as error:
            self._give_back(text)
            self._board.show_problem(error.problem)
        else:
            self._show_exchange(exchange)
            await self._have_answered(exchange, model)

    def explain_blank(self) -> None:
        """The user pressed Enter on nothing."""
        if self._answer is None:
            self._board.show_hint(BLANK_HINT)

    async def stop(self) -> None:
        """End the answer under way and return when the engine has; what is written stays.

        An engine that takes too long is said to be stuck, with a way on.
        """
        if self._answer is None:
            return
        shelf = self._services.shelf
        timer = self._services.clock.call_later(STOP_MS, shelf.engine_stuck)
        try:
            await self._answer.stop()
            shelf.engine_answered()
        finally:
            timer.stop()

    def change_draft(self, text: str) -> None:
        self._draft.change(text)

    def choose_model(self, model: str) -> None:
        """Use `model` for this chat's next answers, and for new chats; one that cannot be used is refused."""
        with self._reporting():
            if (problem := self._services.shelf.problem_with(model)) is not None:
                raise ProblemError(problem)
            self._conversation.choose_model(model)
            self._services.settings[DEFAULT_MODEL] = model
        self._board.show()

    async def open_folder(self, folder: str) -> None:
        """Add the models in `folder`, and choose one of them; say so when none can be used."""
        self._board.show_problem(None)
        with self._reporting():
            if (found := await self._services.shelf.open_folder(folder)) is not None:
                self.choose_model(found)

    async def apply_remedy(self) -> None:
        """Do what the button beside the problem says."""
        self._board.show_problem(None)
        if (remedy := self._services.shelf.remedy) is not None:
            await self._services.shelf.apply(remedy)

    def engine_ended(self, problem: Problem) -> None:
        """A tab with an answer under way hears it from its session."""
        if self._answer is None:
            self._board.show_problem(problem)

    async def close(self) -> None:
        """The tab is gone: keep the draft, end the session, and return when nothing of it runs. Idempotent."""
        self._view = Nobody()
        self._board.close()
        self._draft.close()
        if self._answer is not None:
            await self._answer.close()
        await self._finished.wait()

    def _refusal(self, text: str, model: ModelDescription | None) -> str:
        if not text.strip():
            return BLANK_HINT
        return self._board.missing_model_hint if model is None else BUSY_HINT

    async def _have_answered(self, exchange: Exchange, model: ModelDescription) -> None:
        answer = self._answer = self._open(exchange, model)
        self._finished.clear()
        self._board.show_answering(model)
        ending = Ending(TurnState.INTERRUPTED)
        try:
            ending = await answer.follow()
        finally:
            self._answer = None
            self._conversation.end_answer(exchange.answer, ending.state, answer.pieces)
            self._board.show_answering(None)
            self._finished.set()
        if ending.problem is not None:
            self._explain(exchange, ending.problem, has_begun=bool(answer.pieces))

    def _open(self, exchange: Exchange, model: ModelDescription) -> Answer:
        services, turn = self._services, exchange.answer.id
        request = request_for(model.id, self._conversation.branch, services.settings)
        saver = TokenSaver(services.store, turn, services.clock, self._board.show_problem)
        session = services.engine.generate(request)
        return Answer(session, key_of(turn), model.name, self._view, saver, services.clock, self._board.show_phase)

    def _explain(self, exchange: Exchange, problem: Problem, *, has_begun: bool) -> None:
        self._board.show_problem(problem)
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
        """What the user has begun to write since then stays."""
        if not self._draft.draft:
            self._view.show_draft(text)
            self._draft.change(text)

    def _show_exchange(self, exchange: Exchange) -> None:
        question, answer = exchange
        self._view.begin_message(key_of(question.id), question.role, question.text)
        self._view.end_message(key_of(question.id))
        self._view.begin_message(key_of(answer.id), answer.role)
        self._board.show_problem(None)
        self._changed()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        """A problem of the store or the settings goes to the screen, and ends there."""
        try:
            yield
        except ProblemError as error:
            self._board.show_problem(error.problem)

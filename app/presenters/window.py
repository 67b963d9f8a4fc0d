"""The tabs of the window, from the first to the last moment."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from app.chats.conversation import Conversation
from app.chats.titles import UNTITLED
from app.chats.tree import ChatId
from app.presenters.chat import ChatPresenter
from app.presenters.remedies import CANNOT_START
from app.presenters.services import Services
from app.presenters.views import ChatView, WindowView
from app.settings.declarations import HEATMAP, PRELOAD_MODEL
from engine.contracts import Problem, ProblemError

CLOSE_SECONDS = 0.8
"""An engine that does not answer must not keep the window open; ending its process may take two seconds more."""

_log = logging.getLogger(__name__)

ConnectTab = Callable[[ChatView, ChatPresenter], None]


class WindowPresenter:
    """Owns the tabs. `connect` wires a new tab's view to its presenter; whoever builds both knows how.

    Confined to the app's loop.
    """

    def __init__(self, view: WindowView, services: Services, connect: ConnectTab) -> None:
        self._view = view
        self._services = services
        self._connect = connect
        self._names = map("tab-{}".format, count(1))
        self._tabs: dict[str, ChatPresenter] = {}
        self._quitting = False
        self.closed = asyncio.Event()
        """Set once every tab is closed and the window may go."""

    async def start(self) -> None:
        """Open the tabs of the last time, find the models, and make the first one ready."""
        self._view.show_heatmap(self._services.settings[HEATMAP])
        self._restore_tabs()
        await self._services.shelf.refresh()
        model = self._services.shelf.choose(None)
        if model is not None and self._services.settings[PRELOAD_MODEL]:
            await self._services.shelf.load_ahead(model)

    def new_tab(self) -> ChatPresenter:
        """Open an empty conversation, in front."""
        tab = self._add_tab(Conversation(self._services.store))
        self.select_tab(tab)
        return self._tabs[tab]

    def select_tab(self, tab: str) -> None:
        """Bring `tab` to the front."""
        if tab in self._tabs:
            self._view.select_tab(tab)
            self._tabs[tab].show()

    async def close_tab(self, tab: str) -> None:
        """End what runs in `tab` and take it away; its conversation stays in the store.

        The window is never without a tab.
        """
        chat = self._tabs.pop(tab, None)
        if chat is None:
            return
        self._view.remove_tab(tab)
        self._keep_tabs()
        if not self._tabs and not self._quitting:
            self.new_tab()
        await chat.close()

    def show_heatmap(self, shown: bool) -> None:
        """Colour the tokens of all answers, now and at the next start."""
        self._view.show_heatmap(shown)
        try:
            self._services.settings[HEATMAP] = shown
        except ProblemError as error:
            self._view.show_engine_state(error.problem.sentence)

    def engine_ended(self, problem: Problem) -> None:
        """The engine is gone without being asked: say so, and bring it back."""
        _log.info("the engine ended: %s", problem.code)
        if problem.code != CANNOT_START:  # That is said by the shelf, once it has tried again.
            for chat in self._tabs.values():
                chat.engine_ended(problem)
        self._services.shelf.bring_back()

    async def quit(self) -> None:
        """Save, end every session and let the window go, whatever the engine does. Idempotent."""
        if self._quitting:
            return
        self._quitting = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await asyncio.gather(*(chat.close() for chat in self._tabs.values()))
        finally:
            self._view.close_for_good()
            self.closed.set()

    def _restore_tabs(self) -> None:
        try:
            summaries = self._services.store.open_tabs()
        except ProblemError as error:
            self._view.show_engine_state(error.problem.sentence)
            summaries = ()
        restored = [tab for summary in summaries if (tab := self._restore_tab(summary.id)) is not None]
        if restored:
            self.select_tab(restored[-1])
        else:
            self.new_tab()

    def _restore_tab(self, chat: ChatId) -> str | None:
        """A chat that cannot be read is left alone, and harms no other."""
        try:
            return self._add_tab(Conversation(self._services.store, chat))
        except ProblemError as error:
            self._view.show_engine_state(error.problem.sentence)
            return None

    def _add_tab(self, conversation: Conversation) -> str:
        tab = next(self._names)

        def changed() -> None:
            # A draft may be stored when its tab is already gone.
            if tab in self._tabs:
                self._view.show_tab_title(tab, chat.title)
                self._keep_tabs()

        view = self._view.add_tab(tab, conversation.title or UNTITLED)
        chat = ChatPresenter(view, self._services, conversation, changed)
        self._tabs[tab] = chat
        self._connect(view, chat)
        return tab

    def _keep_tabs(self) -> None:
        chats = [chat.chat_id for chat in self._tabs.values() if chat.chat_id is not None]
        # Tabs that cannot be remembered are only closed at the next start; the conversation itself is what matters.
        with suppress(ProblemError):
            self._services.store.keep_tabs(chats)

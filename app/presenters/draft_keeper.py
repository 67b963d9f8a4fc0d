"""Keeps what the user is still writing."""

from collections.abc import Callable
from contextlib import suppress

from app.chats.conversation import Conversation
from engine.contracts import Clock, ProblemError, Timer

KEEP_AFTER_MS = 1000


class DraftKeeper:
    """Stores the draft a moment after it changed, so that typing does not write with every key.

    `stored` is called when the draft gave its chat a place in the store.
    """

    def __init__(self, conversation: Conversation, clock: Clock, stored: Callable[[], None]) -> None:
        self._conversation = conversation
        self._clock = clock
        self._stored = stored
        self._timer: Timer | None = None
        self._closed = False
        self.draft = conversation.draft

    def change(self, draft: str) -> None:
        """Store `draft` soon; what a screen says that outlives its chat is ignored."""
        if self._closed:
            return
        self.draft = draft
        if self._timer is None:
            self._timer = self._clock.call_later(KEEP_AFTER_MS, self.keep)

    def close(self) -> None:
        """Store it now and for good."""
        self.keep()
        self._closed = True

    def keep(self) -> None:
        """Store it now. A draft that cannot be stored stays in the composer and is tried again with the next change."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        before = self._conversation.chat_id
        with suppress(ProblemError):
            self._conversation.keep_draft(self.draft)
        if self._conversation.chat_id != before:
            self._stored()

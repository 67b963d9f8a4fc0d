"""Keeps what the user is still writing."""

from app.chats.conversation import Conversation
from engine.contracts import Clock, ProblemError, Timer

KEEP_AFTER_MS = 1000


class DraftKeeper:
    """Stores the draft a moment after it changed, so that typing does not write with every key."""

    def __init__(self, conversation: Conversation, clock: Clock) -> None:
        self._conversation = conversation
        self._clock = clock
        self._timer: Timer | None = None
        self.draft = conversation.draft

    def change(self, draft: str) -> None:
        self.draft = draft
        if self._timer is None:
            self._timer = self._clock.call_later(KEEP_AFTER_MS, self.keep)

    def keep(self) -> None:
        """Store it now. A draft that cannot be stored stays in the composer and is tried again with the next change."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        try:
            self._conversation.keep_draft(self.draft)
        except ProblemError:
            return

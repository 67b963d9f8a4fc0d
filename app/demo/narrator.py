"""What the chats say, printed while they say it."""

import asyncio
import textwrap

from app.chats.store import ChatStore
from app.chats.tree import ChatId, Turn
from engine.contracts import Role

_LOOK_SECONDS = 0.2
_LINE = 76


class Narrator:
    """Prints each chat's new words as soon as they fill a line; every line names its chat.

    It reads the store, where a streaming answer is at most half a second behind the screen: a tab that nobody sees
    shows nothing.
    """

    def __init__(self, store: ChatStore) -> None:
        self._store = store
        self._names: dict[ChatId, str] = {}
        self._printed: dict[ChatId, int] = {}

    def follow(self, chat: ChatId, name: str) -> None:
        """Print what `chat` says from now on."""
        self._names[chat] = name
        self._printed[chat] = 0

    async def narrate(self) -> None:
        """Print until cancelled."""
        while True:
            for chat in self._names:
                self._print_new(chat, whole_lines=True)
            await asyncio.sleep(_LOOK_SECONDS)

    def finish(self, chat: ChatId, how: str) -> None:
        """Print the rest, and how the answer ended."""
        self._print_new(chat, whole_lines=False)
        print(f"[{self._names[chat]}] — {how}", flush=True)

    def answer(self, chat: ChatId) -> Turn | None:
        """The newest answer in `chat`, as far as it is stored."""
        turns = self._store.read_chat(chat).turns
        return turns[-1] if turns and turns[-1].role is Role.ASSISTANT else None

    def tokens(self, chat: ChatId) -> int:
        """How many tokens of the newest answer are stored."""
        answer = self.answer(chat)
        return 0 if answer is None else len(self._store.read_tokens(answer.id).pieces)

    def _print_new(self, chat: ChatId, *, whole_lines: bool) -> None:
        answer = self.answer(chat)
        new = "" if answer is None else answer.text[self._printed[chat] :]
        if whole_lines:
            end = new.rfind(" ", 0, _LINE) if len(new) >= _LINE else new.rfind("\n")
            new = new[: end + 1]
        self._printed[chat] += len(new)
        for line in textwrap.wrap(new, _LINE):
            print(f"[{self._names[chat]}] {line}", flush=True)

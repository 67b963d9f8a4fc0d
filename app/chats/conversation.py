"""One conversation in memory, in step with the store."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from app.chats.store import ChatStore
from app.chats.titles import title_of
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState, branch_to
from engine.contracts import Part, Role, TokenPiece


class Exchange(NamedTuple):
    """A question with the answer under way."""

    question: Turn
    answer: Turn


class Conversation:
    """Every change is stored before it is visible here; one that raises `ProblemError` changes nothing.

    A conversation gets its place in the store with its first word: an empty tab leaves no trace.
    """

    def __init__(self, store: ChatStore, chat: ChatId | None = None) -> None:
        """Raises `ProblemError` when `chat` cannot be read."""
        self._store = store
        self._chat = Chat(id=_NOT_STORED) if chat is None else store.read_chat(chat)

    @property
    def chat_id(self) -> ChatId | None:
        """None until there is something to store."""
        return None if self._chat.id == _NOT_STORED else self._chat.id

    @property
    def title(self) -> str:
        return self._chat.title

    @property
    def draft(self) -> str:
        return self._chat.draft

    @property
    def model(self) -> str | None:
        """The id of the model chosen for this chat; None leaves it to the settings."""
        return self._chat.model

    @property
    def branch(self) -> tuple[Turn, ...]:
        """The turns on the screen, from the first to the head."""
        return branch_to(self._chat.turns, self._chat.head)

    def keep_draft(self, draft: str) -> None:
        if draft != self.draft:
            self._store.keep_draft(self._stored_id(), draft)
            self._chat = replace(self._chat, draft=draft)

    def choose_model(self, model: str) -> None:
        """Until the chat is stored, the choice is only remembered here."""
        if self.chat_id is not None:
            self._store.keep_model(self.chat_id, model)
        self._chat = replace(self._chat, model=model)

    def ask(self, text: str, model: str) -> Exchange:
        """What the user says now, below the head. The first such turn gives the conversation its title."""
        chat, parent = self._stored_id(), self._chat.head
        if not self.title:
            self._store.keep_title(chat, title_of(text))
            self._chat = replace(self._chat, title=title_of(text))
        asked, answered = self._store.add_exchange(chat, parent, text, model)
        question = Turn(id=asked, parent=parent, role=Role.USER, text=text)
        answer = Turn(id=answered, parent=asked, role=Role.ASSISTANT, text="", state=TurnState.STREAMING, model=model)
        self._chat = replace(self._chat, turns=(*self._chat.turns, question, answer), head=answered)
        return Exchange(question, answer)

    def end_answer(self, answer: Turn, state: TurnState, pieces: Sequence[TokenPiece]) -> None:
        """What the answer came to. Its tokens and its end are stored by who follows the session."""
        text = "".join(piece.text for piece in pieces if piece.part is not Part.THINKING)
        thinking = "".join(piece.text for piece in pieces if piece.part is Part.THINKING)
        ended = replace(answer, state=state, text=text, thinking=thinking)
        turns = tuple(ended if turn.id == answer.id else turn for turn in self._chat.turns)
        self._chat = replace(self._chat, turns=turns)

    def withdraw(self, question: Turn) -> None:
        """Go back to before `question`; it stays in the tree with its answers."""
        self._move_head(question.parent)

    def _move_head(self, head: TurnId | None) -> None:
        self._store.move_head(self._stored_id(), head)
        self._chat = replace(self._chat, head=head)

    def _stored_id(self) -> ChatId:
        if self.chat_id is None:
            self._chat = replace(self._chat, id=self._store.create_chat(self.model))
        return self._chat.id


_NOT_STORED = ChatId(0)
"""SQLite's row ids begin at 1."""

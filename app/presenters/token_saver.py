"""Saves a streaming answer within a second."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from app.chats.store import ChatStore
from app.chats.token_records import TokenRecords
from app.chats.tree import TurnId, TurnState
from engine.contracts import Clock, GenerationResult, Problem, ProblemError, Timer, TokenLogprobs, TokenPiece

SAVE_AFTER_MS = 500


class Ending(NamedTuple):
    """How an answer ended, as it is stored."""

    state: TurnState
    result: GenerationResult | None = None
    problem: Problem | None = None


class TokenSaver:
    """Collects tokens and appends them to the turn together; what cannot be saved is kept, and tried again.

    `report` is told the problem, and None when saving works again.
    """

    def __init__(self, store: ChatStore, turn: TurnId, clock: Clock, report: Callable[[Problem | None], None]) -> None:
        self._store = store
        self._turn = turn
        self._clock = clock
        self._report = report
        self._pieces: list[TokenPiece] = []
        self._logprobs: list[TokenLogprobs | None] = []
        self._ending: Ending | None = None
        self._timer: Timer | None = None
        self._failing = False

    def add(self, pieces: Sequence[TokenPiece], logprobs: Sequence[TokenLogprobs | None] | None) -> None:
        """Hold new tokens; they are saved soon."""
        self._pieces += pieces
        self._logprobs += logprobs if logprobs is not None else [None] * len(pieces)
        if self._timer is None:
            self._timer = self._clock.call_later(SAVE_AFTER_MS, self.save)

    def end(self, ending: Ending) -> None:
        """Save the rest, then how it ended."""
        self._ending = ending
        self.save()

    def save(self) -> None:
        """Save what is held now."""
        self.stop()
        try:
            self._write()
        except ProblemError as error:
            self._failing = True
            self._report(error.problem)
            self._timer = self._clock.call_later(SAVE_AFTER_MS, self.save)
        else:
            if self._failing:
                self._failing = False
                self._report(None)

    def stop(self) -> None:
        """Try no more; what is still held is lost with the app."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _write(self) -> None:
        if self._pieces:
            self._store.append_tokens(self._turn, TokenRecords(tuple(self._pieces), tuple(self._logprobs)))
            self._pieces, self._logprobs = [], []
        if self._ending is not None:
            self._store.end_answer(self._turn, *self._ending)
            self._ending = None

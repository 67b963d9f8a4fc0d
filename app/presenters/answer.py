"""One answer under way, from the engine to the screen with a copy to the store."""

from collections.abc import Callable

from app.chats.tree import TurnState
from app.presenters.nobody import Nobody
from app.presenters.pace import Pace
from app.presenters.phases import Idle, Phase, Stopping, Waiting, phase_of, summary_of, summary_of_cut
from app.presenters.remedies import problem_of
from app.presenters.token_saver import Ending, TokenSaver
from app.presenters.transcript import note_of
from app.presenters.views import ChatView
from engine.contracts import (
    ENGINE_CLOSED,
    Cancelled,
    Clock,
    Committed,
    Completed,
    Failed,
    GenerationResult,
    Outcome,
    Progress,
    Session,
    SessionEvent,
    TokenPiece,
)

_STATUS_EVERY_MS = 100
"""The status line's figures are read by eye; more often only costs."""


class Answer:
    """Owns one session and reads it to its end; what arrived is on the screen at once and saved within a second."""

    def __init__(
        self,
        session: Session[GenerationResult],
        key: str,
        model_name: str,
        view: ChatView,
        saver: TokenSaver,
        clock: Clock,
        show_phase: Callable[[Phase], None],
    ) -> None:
        self._session = session
        self._key = key
        self._model_name = model_name
        self._view = view
        self._saver = saver
        self._clock = clock
        self._show_phase = show_phase
        self._pace = Pace(clock)
        self._status_due_ms = 0.0
        self._stopping = False
        self.pieces: list[TokenPiece] = []
        """What has arrived."""

    async def follow(self) -> Ending:
        """Read to the end and return how it ended. Cancelling this closes the session and keeps what arrived."""
        self._tell(Waiting())
        async with self._session:
            try:
                async for event in self._session:
                    self._take(event)
                return self._end(await self._session.outcome())
            except BaseException:
                # Saved before the session is closed, which may have to wait for the engine.
                self._saver.end(Ending(TurnState.INTERRUPTED))
                raise

    async def stop(self) -> None:
        """Tell the engine to stop and return when it has; the text already here stays."""
        self._stopping = True
        self._show_phase(Stopping())
        await self._session.cancel()

    async def close(self) -> None:
        """The tab is gone: show nothing more, end the session, and return when the engine is done with it."""
        self._view = Nobody()
        self._stopping = True
        await self._session.close()

    def _take(self, event: SessionEvent) -> None:
        match event:
            case Committed(pieces=pieces, logprobs=logprobs):
                self._pace.add(len(event.token_ids))
                if pieces:
                    self.pieces += pieces
                    self._view.append_pieces(self._key, pieces, logprobs)
                    self._saver.add(pieces, logprobs)
                if self._clock.now_ms() >= self._status_due_ms:
                    self._status_due_ms = self._clock.now_ms() + _STATUS_EVERY_MS
                    self._tell(self._pace.phase())
            case Progress():
                self._tell(phase_of(event, self._model_name))

    def _tell(self, phase: Phase) -> None:
        if not self._stopping:
            self._show_phase(phase)

    def _end(self, outcome: Outcome[GenerationResult]) -> Ending:
        match outcome:
            case Completed(result):
                summary = summary_of("Done", result)
                return self._settle(Ending(TurnState.COMPLETE, result), summary)
            case Cancelled(reason):
                state = TurnState.INTERRUPTED if reason == ENGINE_CLOSED else TurnState.STOPPED
                return self._settle(Ending(state), self._cut_summary(state))
            case Failed(error):
                ending = Ending(TurnState.FAILED, problem=problem_of(error))
                return self._settle(ending, self._cut_summary(TurnState.FAILED))

    def _cut_summary(self, state: TurnState) -> str:
        return summary_of_cut(state.capitalize(), self._pace.tokens, self._pace.tokens_per_second)

    def _settle(self, ending: Ending, summary: str) -> Ending:
        self._saver.end(ending)
        is_empty = not any(piece.text for piece in self.pieces)
        self._view.end_message(self._key, note_of(ending.state, ending.result, is_empty=is_empty))
        self._show_phase(Idle(summary))
        return ending

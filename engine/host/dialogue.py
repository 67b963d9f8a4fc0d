"""What the app and one engine have open between them: sessions with their channels, calls with their callers."""

import enum
from collections.abc import Callable, Sequence
from typing import Any, assert_never, cast

import msgspec

from engine.contracts import (
    ENGINE_CLOSED,
    EngineStatus,
    GenerationRequest,
    ModelDescription,
    Problem,
    ProblemError,
    PromptFit,
)
from engine.host import problems
from engine.host.calls import PendingCalls
from engine.host.framing import encode_frame
from engine.host.messages import (
    CallFailed,
    Cancel,
    Ended,
    Event,
    Fit,
    FitPrompt,
    GetStatus,
    Grant,
    ListModels,
    Models,
    Open,
    Status,
    ToEngine,
    encode_checked,
)
from engine.host.remote_session import WINDOW_EVENTS, RemoteSession


class Phase(enum.Enum):
    """Where a dialogue is in its life; it only moves forward."""

    WAITING = enum.auto()
    """What is said is kept until the other side listens."""
    OPEN = enum.auto()
    OVER = enum.auto()
    """What is said is dropped: everything open is about to end, or has."""


class Dialogue:
    """The app's side of one connection, as its sessions and callers see it. Belongs to the client's loop."""

    def __init__(self, send_frame: Callable[[bytes], None]) -> None:
        self._send_frame = send_frame
        self._phase = Phase.WAITING
        self._kept: list[bytes] = []
        self._sessions: dict[int, RemoteSession[Any]] = {}
        self._last_channel = 0
        self._calls = PendingCalls()

    @property
    def phase(self) -> Phase:
        return self._phase

    def open(self, session: RemoteSession[Any]) -> "DialogueChannel | None":
        """Begin `session` in the engine; None when its request was refused, which ends it."""
        self._last_channel = number = self._last_channel + 1
        try:
            self.send(Open(number, session.request, WINDOW_EVENTS))
        except ProblemError as refusal:
            session.end(problems.failed_with(refusal.problem))
            return None
        self._sessions[number] = session
        return DialogueChannel(self, number)

    async def list_models(self, folders: Sequence[str]) -> tuple[ModelDescription, ...]:
        """Raises `ProblemError`."""
        answer = await self._calls.ask(lambda number: self.send(ListModels(number, tuple(folders))))
        return cast(tuple[ModelDescription, ...], answer)

    async def fit_prompt(self, request: GenerationRequest) -> PromptFit:
        """Raises `ProblemError`."""
        return cast(PromptFit, await self._calls.ask(lambda number: self.send(FitPrompt(number, request))))

    async def status(self) -> EngineStatus:
        """Raises `ProblemError`."""
        return cast(EngineStatus, await self._calls.ask(lambda number: self.send(GetStatus(number))))

    def send(self, message: ToEngine) -> None:
        """Raises `ProblemError` for a message that no engine could read."""
        try:
            frame = encode_frame(encode_checked(message))
        except (ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
            raise ProblemError(problems.request_refused(error)) from error
        match self._phase:
            case Phase.WAITING:
                self._kept.append(frame)
            case Phase.OPEN:
                self._send_frame(frame)
            case Phase.OVER:
                pass

    def begin(self) -> None:
        """The other side listens: say what was kept."""
        self._phase = Phase.OPEN
        for frame in self._kept:
            self._send_frame(frame)
        self._kept.clear()

    def fall_silent(self) -> None:
        """Say nothing any more; what the other side still says is heard."""
        self._phase = Phase.OVER
        self._kept.clear()

    def receive(self, message: Event | Ended | Models | Fit | Status | CallFailed) -> None:
        """The engine said something. What concerns a session or caller that is gone is ignored."""
        match message:
            case Event(channel=number, event=event):
                if number in self._sessions:
                    self._sessions[number].deliver(event)
            case Ended(channel=number, outcome=outcome):
                if number in self._sessions:
                    self._sessions.pop(number).end(outcome)
            case Models(call=number, models=models):
                self._calls.answer(number, models)
            case Fit(call=number, fit=fit):
                self._calls.answer(number, fit)
            case Status(call=number, status=status):
                self._calls.answer(number, status)
            case CallFailed(call=number, problem=problem):
                self._calls.fail(number, problem)
            case _:
                assert_never(message)

    def end(self, problem: Problem | None) -> None:
        """End everything that is still open: failed with `problem`, or cancelled when there is none."""
        self.fall_silent()
        for session in self._sessions.values():
            if problem is None:
                session.abandon(ENGINE_CLOSED)
            else:
                session.fail(problem)
        self._sessions.clear()
        self._calls.fail_all(problem or problems.engine_closed())


class DialogueChannel:
    """A session's way to its engine; implements `RemoteChannel`."""

    def __init__(self, dialogue: Dialogue, number: int) -> None:
        self._dialogue = dialogue
        self._number = number

    def grant(self, events: int) -> None:
        self._dialogue.send(Grant(self._number, events))

    def cancel(self, reason: str) -> None:
        self._dialogue.send(Cancel(self._number, reason))

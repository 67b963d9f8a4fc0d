"""A session that does what the test tells it."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, Self, TypeVar

from engine.contracts import (
    CONSUMER_CLOSED,
    EXECUTION_FAILED,
    REQUESTED,
    Cancelled,
    Committed,
    Completed,
    Failed,
    Failure,
    Outcome,
    Part,
    Problem,
    Progress,
    SessionEvent,
    SessionState,
)
from tests.fakes.scripted_tokens import ScriptedToken, TokenWriter, split_words, token

R = TypeVar("R")
Q = TypeVar("Q")

PATIENCE_SECONDS = 10
"""After this time a script that nobody reads fails its test instead of hanging it."""


class ScriptedSession(Generic[Q, R]):
    """The app's end is `contracts.Session`; the test's end are the verbs in the third person.

    What is said waits until the app has opened the session, read it and come back for more: when `says` returns, the
    app has dealt with the words. A test may speak before the app opens the session.
    """

    def __init__(self) -> None:
        self.reasons: list[str] = []
        """Every reason the app gave for a cancellation, in order."""
        self.ignores_cancellation = False
        """The session hangs: cancelling is recorded, but it ends only when the test ends it."""
        self._request: Q | None = None
        self._state = SessionState.CREATED
        self._writer = TokenWriter()
        self._events: deque[SessionEvent] = deque()
        self._outcome: Outcome[R] | None = None
        self._result_at_once: R | None = None
        self._reading = False
        self._taken = False
        self._changed = asyncio.Event()

    # -- the test's end ---------------------------------------------------------------------------------------------

    @property
    def request(self) -> Q:
        """What the app asked for."""
        assert self._request is not None, "the app has not opened this session"
        return self._request

    @property
    def is_open(self) -> bool:
        """The app has opened it."""
        return self._request is not None

    async def opened(self) -> Q:
        """Wait for the app to open it."""
        await self._until(lambda: self.is_open, "nobody opened the session")
        return self.request

    async def started(self) -> Q:
        """Wait for the app to ask for the first event."""
        await self._until(lambda: self._state is not SessionState.CREATED, "nobody reads the session")
        return self.request

    async def says(self, *words: str | ScriptedToken, part: Part = Part.ANSWER, rate: float | None = None) -> None:
        """Commit tokens: a text in words, or a `token(...)` with its figures. `rate` is tokens per second."""
        tokens = [each for text in words for each in _tokens(text, part)]
        if rate is None:
            await self._publish(self._writer.commit(tokens))
            return
        for each in tokens:
            await self._publish(self._writer.commit([each]))
            await asyncio.sleep(1 / rate)
            if self.state is SessionState.TERMINAL:
                return

    async def thinks(self, *words: str | ScriptedToken) -> None:
        """Commit tokens that belong to the thinking."""
        await self.says(*words, part=Part.THINKING)

    async def progresses(self, completed: float, total: float | None = None, phase: str | None = None) -> None:
        """Publish progress."""
        await self._publish(Progress(completed, total, phase))

    async def finishes(self, result: R) -> None:
        """End as completed."""
        await self.started()
        self._finish(Completed(result, self._writer.token_count))

    async def fails(self, problem: Problem) -> None:
        """End as failed, with a problem for the screen."""
        await self.started()
        failure = Failure(EXECUTION_FAILED, problem.sentence, problem=problem)
        self._finish(Failed(failure, self._writer.token_count))

    async def gives_up(self) -> None:
        """End a session that ignores its cancellation after all."""
        await self._until(lambda: bool(self.reasons), "nobody cancelled the session")
        self._finish(Cancelled(self.reasons[0], self._writer.token_count))

    def completes_at_once(self, result: R) -> None:
        """Complete as soon as the app reads."""
        self._result_at_once = result

    def open_with(self, request: Q) -> None:
        """The engine hands it to the app."""
        self._request = request
        self._notify()

    def says_nowait(self, *words: str | ScriptedToken) -> None:
        """Queue one event for each token without waiting for a reader: for long answers."""
        self._events.extend(self._writer.commit([each]) for text in words for each in _tokens(text, Part.ANSWER))

    async def _publish(self, event: SessionEvent) -> None:
        await self.started()
        if self.state is SessionState.TERMINAL:
            raise AssertionError(f"the session has ended: {self._outcome}")
        self._state = SessionState.RUNNING
        self._events.append(event)
        self._notify()
        await self._until(self._is_caught_up, f"nobody read {_describe(event)}")

    def _is_caught_up(self) -> bool:
        """A reader that waits again has dealt with everything before."""
        return (self._reading and not self._events) or self._state is SessionState.TERMINAL

    def _finish(self, outcome: Outcome[R]) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._state = SessionState.TERMINAL
        self._notify()

    def _notify(self) -> None:
        """Everybody who waits looks again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def _wait_for(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    async def _until(self, condition: Callable[[], bool], complaint: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._wait_for(condition)
        except TimeoutError:
            raise AssertionError(complaint) from None

    # -- the app's end ----------------------------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        return self._state

    def __aiter__(self) -> "ScriptedEvents[Q, R]":
        if self._taken:
            raise RuntimeError("a session has one reader")
        self._taken = True
        return ScriptedEvents(self)

    async def next_event(self) -> SessionEvent:
        """What the iterator answers."""
        if self._reading:
            raise RuntimeError("another read is waiting")
        if self._state is SessionState.CREATED:
            self._state = SessionState.PREPARING
        self._reading = True
        if self._result_at_once is not None and self._outcome is None:
            self._finish(Completed(self._result_at_once, 0))
        try:
            self._notify()
            await self._wait_for(self._can_answer_reader)
        finally:
            self._reading = False
        if not self._events:
            raise StopAsyncIteration
        return self._events.popleft()

    def _can_answer_reader(self) -> bool:
        return bool(self._events) or self._outcome is not None

    async def cancel(self, reason: str = REQUESTED) -> None:
        if self._outcome is not None:
            return
        self.reasons.append(reason)
        self._events.clear()
        if self.ignores_cancellation:
            self._notify()
            await self.outcome()
        else:
            self._finish(Cancelled(self.reasons[0], self._writer.token_count))

    async def close(self) -> None:
        await self.cancel(CONSUMER_CLOSED)

    async def outcome(self) -> Outcome[R]:
        await self._wait_for(lambda: self._outcome is not None)
        assert self._outcome is not None
        return self._outcome

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class ScriptedEvents(Generic[Q, R]):
    """The session's one reader."""

    def __init__(self, session: ScriptedSession[Q, R]) -> None:
        self._session = session

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionEvent:
        return await self._session.next_event()

    async def aclose(self) -> None:
        await self._session.close()


def _tokens(words: str | ScriptedToken, part: Part) -> list[ScriptedToken]:
    if isinstance(words, ScriptedToken):
        return [words if part is Part.ANSWER else words._replace(part=part)]
    return [token(word, part=part) for word in split_words(words)]


def _describe(event: SessionEvent) -> str:
    if isinstance(event, Committed):
        return repr("".join(piece.text for piece in event.pieces or ()))
    return repr(event)

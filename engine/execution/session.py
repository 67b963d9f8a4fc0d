"""One piece of work with one reader: the public face of the execution core."""

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Generic, Self, TypeVar

from engine.contracts import (
    CONSUMER_CLOSED,
    CONSUMER_IDLE,
    ENGINE_CLOSED,
    REQUESTED,
    Cancellation,
    Clock,
    Outcome,
    Plan,
    Prepare,
    SessionCancelledError,
    SessionState,
    Unsubscribe,
)
from engine.execution.cancellation import CancellationSource
from engine.execution.deliveries import CallbackDelivery, CollectDelivery, Delivery, StreamDelivery
from engine.execution.endings import Ending, Raised, Taken, outcome_of
from engine.execution.event_queue import EventQueue
from engine.execution.idle_timer import IdleTimer
from engine.execution.inside import entered, is_inside
from engine.execution.lifecycle import Lifecycle
from engine.execution.limits import SessionLimits
from engine.execution.modes import Callback, Collect, OutputMode, Stream
from engine.execution.publications import Publications
from engine.execution.reader import SessionReader
from engine.execution.refusals import Refusal, RefusedError
from engine.execution.window import PublicationWindow
from engine.runtime.disposal import report, run_all

R = TypeVar("R")

__all__ = ["GenerationSession", "SessionLimits"]


class GenerationSession(Generic[R]):
    """A `Session` over one method. Confined to the loop it is opened on.

    `prepare` is called at the first read of a stream, and inside the constructor otherwise. `external` cancels from
    outside. `on_terminal` is called exactly once, inside the constructor if `external` has already fired: an owner that
    keeps a register looks at `state` before it adds the session. Its errors, like those of every other step of ending,
    go to the loop's exception handler and change nothing.
    """

    def __init__(
        self,
        prepare: Prepare[R],
        *,
        clock: Clock,
        limits: SessionLimits | None = None,
        mode: OutputMode | None = None,
        external: Cancellation | None = None,
        on_terminal: Callable[["GenerationSession[R]"], None] | None = None,
    ) -> None:
        limits = limits or SessionLimits()
        self._prepare = prepare
        self._mode = mode or Stream()
        self._on_terminal = on_terminal
        self._loop = asyncio.get_running_loop()
        self._settled: asyncio.Future[Outcome[R]] = self._loop.create_future()
        self._state = SessionState.CREATED
        self._owner = object()
        self._reader_taken = False
        self._cancellation = CancellationSource()
        self._queue = EventQueue(limits.max_queued_events, limits.max_queued_tokens)
        self._idle = IdleTimer(clock, limits.idle_timeout_ms, partial(self._cancel_nowait, CONSUMER_IDLE))
        window = PublicationWindow(self._cancellation)
        self._delivery = self._delivery_for(self._mode, window, limits)
        self._lifecycle = Lifecycle[R](
            self._cancellation,
            self._delivery,
            Publications(window, self._delivery, limits.max_top_logprobs),
            window,
            enter=self._enter,
            interrupted=partial(self._cancel_nowait, ENGINE_CLOSED),
        )
        self._work: asyncio.Task[Ending[R]] | None = None
        self._unsubscribe: Unsubscribe = lambda: None
        if external is not None:
            self._listen_to(external)
        if isinstance(self._mode, Stream):
            self._idle.restart()
        else:
            self._start()

    @property
    def state(self) -> SessionState:
        return self._state

    def __aiter__(self) -> SessionReader:
        """Take the one reader. Dropping the last reference to it closes the session: nobody could ever read again."""
        if not isinstance(self._mode, Stream):
            raise RefusedError(Refusal.NOT_A_STREAM)
        if self._reader_taken:
            raise RefusedError(Refusal.SECOND_CONSUMER)
        self._reader_taken = True
        reader = SessionReader(self._queue, self._idle, start=self._start, close=self.close)
        weakref.finalize(reader, self._reader_vanished)
        return reader

    async def cancel(self, reason: str = REQUESTED) -> None:
        """Record `reason`, drop what nobody has read, and return once terminal.

        Awaited by the session's own work (prepare, method, callback or close, with the tasks they start) it returns at
        once: the end cannot come before its caller has ended.
        """
        self._cancel_nowait(reason)
        if not is_inside(self._owner):
            await asyncio.shield(self._settled)

    async def close(self) -> None:
        await self.cancel(CONSUMER_CLOSED)

    async def outcome(self) -> Outcome[R]:
        """How it ended. Raises `RefusedError` when the session's own work would wait for itself."""
        if is_inside(self._owner) and not self._settled.done():
            raise RefusedError(Refusal.OWN_OUTCOME)
        # Shielded: a waiter that is cancelled must not cancel the future of all others.
        return await asyncio.shield(self._settled)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _delivery_for(self, mode: OutputMode, window: PublicationWindow, limits: SessionLimits) -> Delivery:
        match mode:
            case Stream():
                return StreamDelivery(self._queue, self._idle, window, limits.max_queued_tokens)
            case Collect(reserve):
                return CollectDelivery(reserve)
            case Callback(on_tokens):  # pragma: no branch
                return CallbackDelivery(on_tokens)

    def _listen_to(self, external: Cancellation) -> None:
        unsubscribe = external.subscribe(self._cancel_nowait)
        if self._state is SessionState.TERMINAL:
            report("a session could not unsubscribe", run_all([unsubscribe]))
        else:
            self._unsubscribe = unsubscribe

    def _start(self) -> None:
        """Begin the work, once, and never after a cancellation."""
        if self._state is not SessionState.CREATED or self._cancellation.reason is not None:
            return
        context = entered(self._owner)
        preparation = context.run(self._lifecycle.begin, self._prepare)
        self._work = self._loop.create_task(self._lifecycle.live(preparation), context=context)
        self._work.add_done_callback(partial(self._work_ended, preparation))

    def _work_ended(self, preparation: Awaitable[Plan[R]], work: asyncio.Task[Ending[R]]) -> None:
        """Finish in a callback of the task, which comes even if it had no first turn, or the process has to end."""
        if not work.cancelled() and work.exception() is None:
            return self._finish(work.result())
        if asyncio.iscoroutine(preparation):
            preparation.close()
        self._cancel_nowait(ENGINE_CLOSED)
        return self._finish(Ending(Raised(asyncio.CancelledError()), ()))

    def _enter(self, state: SessionState) -> None:
        self._state = state
        if state is SessionState.SETTLING:
            # A publication left blocked would otherwise show up after the outcome.
            self._queue.release_producer()

    def _cancel_nowait(self, reason: str) -> None:
        if self._state is SessionState.TERMINAL:
            return
        # All three do nothing the second time.
        errors = run_all([partial(self._cancellation.cancel, reason), self._queue.drop, self._idle.end])
        report("cancelling a session", errors)
        if self._state is SessionState.CREATED:
            self._finish(Ending(Raised(SessionCancelledError(reason)), ()))

    def _finish(self, ending: Ending[R]) -> None:
        taken = Taken(self._delivery.committed_tokens, self._delivery.output())
        outcome = outcome_of(ending, self._cancellation.reason, taken)
        self._state = SessionState.TERMINAL
        settle = partial(self._settled.set_result, outcome)
        report(
            "ending a session", run_all([self._idle.end, self._unsubscribe, settle, self._queue.end, self._tell_owner])
        )

    def _tell_owner(self) -> None:
        if self._on_terminal is not None:
            self._on_terminal(self)

    def _reader_vanished(self) -> None:
        """Called by the garbage collector, on whichever thread it runs."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_nowait, CONSUMER_CLOSED)

"""Sampling and captures of one request, paired by the request's own steps."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from engine.contracts import TokenLogprobs
from engine.runtime.disposal import dispose_all, raise_after_cleanup

L = TypeVar("L")
A = TypeVar("A")
E = TypeVar("E")
L_contra = TypeVar("L_contra", contravariant=True)
E_contra = TypeVar("E_contra", contravariant=True)

TokenSink = Callable[[int, TokenLogprobs | None], object]
"""Takes one emitted token with what was measured of it; its answer, awaitable or not, goes back to the emitter."""


class Sample(NamedTuple, Generic[A, E]):
    """A chosen token, still an array on the device, with what was captured beside it."""

    token: A
    extras: E | None


class Sampler(Protocol[L_contra, A, E]):
    """Chooses tokens for one request, which owns it."""

    @property
    def captures_logprobs(self) -> bool: ...

    @property
    def is_plain_greedy(self) -> bool:
        """Whether the choice is the largest logit and nothing else, so that rows may share one argmax."""

    def sample(self, logits: L_contra, step: int) -> Sample[A, E]:
        """Choose the token of the request's `step` (from 0). Lazy: nothing has to be evaluated yet."""

    def dispose(self) -> None: ...


class ArrayHandover(Protocol[A, E_contra]):
    """What has to be done with arrays and extras; the extras of a step may be None."""

    def start(self, arrays: Sequence[A]) -> None:
        """Begin to evaluate the arrays together, without waiting."""

    def free(self, array: A) -> None: ...

    def arrays_of(self, extras: E_contra | None) -> Sequence[A]:
        """The arrays that `read` will need."""

    def read(self, extras: E_contra | None) -> TokenLogprobs | None:
        """Wait for the arrays, and free the extras whatever happens: nobody else will."""

    def free_extras(self, extras: E_contra | None) -> None: ...


class RowSampling(Generic[L, A, E]):
    """Owns one request's sampler and what was captured at its steps.

    Without captures, tokens and `sink` pass straight through. With them, evaluation begins as each token is sampled,
    and `sink` hands every emitted token on with the captures of its step. Emission counts its own steps, so sampling
    may run ahead or out of order.
    """

    def __init__(self, sampler: Sampler[L, A, E], handover: ArrayHandover[A, E], sink: TokenSink) -> None:
        self._sampler = sampler
        self._handover = handover
        self._inner_sink = sink
        self._captures = sampler.captures_logprobs
        self._captured: dict[int, E] = {}
        self._emitted = 0
        self.is_plain_greedy = sampler.is_plain_greedy and not self._captures
        self.sink: TokenSink = self._emit if self._captures else sink

    def sample(self, logits: L, step: int) -> A:
        """The token of `step`, its evaluation begun when there are captures. A failure frees both and raises."""
        token, extras = self._sampler.sample(logits, step)
        if self._captures:
            self._start(token, extras)
            if extras is not None:
                self._captured[step] = extras
        return token

    def discard(self, step: int) -> None:
        """Free what was captured at `step`. Asked for before sampling it again: the store itself keeps older captures
        where newer ones are missing, as the recorded scenarios have it.
        """
        extras = self._captured.pop(step, None)
        if extras is not None:
            self._handover.free_extras(extras)

    def skip(self) -> None:
        """The next step's token will not be emitted: every later token would get its neighbour's captures otherwise."""
        step, self._emitted = self._emitted, self._emitted + 1
        self.discard(step)

    def dispose(self) -> None:
        """Dispose of the sampler, then of the captures nobody read; what fails is raised when all were tried."""
        captured, self._captured = self._captured, {}
        frees = (partial(self._handover.free_extras, extras) for extras in captured.values())
        dispose_all("a row's sampling was not freed", self._sampler.dispose, *frees)

    def _start(self, token: A, extras: E | None) -> None:
        try:
            self._handover.start([token, *self._handover.arrays_of(extras)])
        except Exception as error:  # noqa: BLE001 - raised again, once everything was freed
            frees = (partial(self._handover.free, token), partial(self._handover.free_extras, extras))
            raise_after_cleanup(error, *frees)

    def _emit(self, token_id: int, _measured_elsewhere: TokenLogprobs | None = None) -> object:
        extras = self._captured.pop(self._emitted, None)
        # Used up whatever the reader and the sink do.
        self._emitted += 1
        return self._inner_sink(token_id, self._handover.read(extras))

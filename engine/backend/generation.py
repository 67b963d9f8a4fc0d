"""The method behind an answer: messages in, tokens with their pieces out."""

import secrets
from collections.abc import Callable

import msgspec

from engine.backend.prompting import FittedPrompt, fit_prompt
from engine.backend.publishing import PREFILL, commit_tokens
from engine.backend.residents import ResidentModel, ResidentModels
from engine.backend.row import Row, RowProgress, RowRequest, SampledToken
from engine.contracts import (
    Cancellation,
    Clock,
    FinishReason,
    GenerationRequest,
    GenerationResult,
    Output,
    Problem,
    ProblemError,
)
from engine.text.assembly import MessageAssembler


async def plan_generation(
    residents: ResidentModels, clock: Clock, request: GenerationRequest, cancellation: Cancellation
) -> "GenerationPlan":
    """Load the model if need be, render and encode the messages, and check that they fit.

    Raises `ProblemError`: whatever loading, the template and the context have to say.
    """
    _check_limit(request.max_tokens)
    opened_ms = clock.now_ms()
    resident = await residents.obtain(request.model, cancellation)
    let_go = resident.retain()
    try:
        fitted = await fit_prompt(resident, request)
    except BaseException:
        let_go()
        raise
    return GenerationPlan(request, resident, let_go, fitted, cancellation, Stopwatch(clock, opened_ms))


def _check_limit(max_tokens: int | None) -> None:
    if max_tokens is not None and max_tokens < 0:
        sentence = f"An answer cannot have {max_tokens:,} tokens."
        raise ProblemError(Problem(code="limit_invalid", sentence=sentence, remedy="Choose 0 or more, or no limit."))


class Stopwatch:
    """The moments of one answer that its figures are made of."""

    def __init__(self, clock: Clock, opened_ms: float) -> None:
        self._clock = clock
        self._opened_ms = opened_ms
        self._first_ms: float | None = None
        self._last_ms = opened_ms

    def token_arrived(self) -> None:
        self._last_ms = self._clock.now_ms()
        if self._first_ms is None:
            self._first_ms = self._last_ms

    @property
    def first_token_seconds(self) -> float:
        return ((self._first_ms or self._opened_ms) - self._opened_ms) / 1000

    @property
    def decode_seconds(self) -> float:
        return (self._last_ms - (self._first_ms or self._last_ms)) / 1000


class GenerationPlan:
    """A prompt that fits, on a model that stays in memory until the plan, or its run, lets go of it."""

    def __init__(
        self,
        request: GenerationRequest,
        resident: ResidentModel,
        let_go: Callable[[], None],
        fitted: FittedPrompt,
        cancellation: Cancellation,
        stopwatch: Stopwatch,
    ) -> None:
        self._request = request
        self._resident = resident
        self._let_go = let_go
        self._fitted = fitted
        self._cancellation = cancellation
        self._stopwatch = stopwatch

    @property
    def output_token_limit(self) -> int:
        """What the caller allows, and what the context has room for."""
        return self._room if self._request.max_tokens is None else min(self._room, self._request.max_tokens)

    @property
    def _room(self) -> int:
        return self._resident.loaded.context_length - len(self._fitted.prompt.token_ids)

    async def create_run(self) -> "GenerationRun":
        request, text = self._request, self._resident.text
        sampling = request.sampling or self._resident.loaded.sampling_defaults
        seed = secrets.randbits(32) if sampling.seed is None else sampling.seed
        row = self._resident.group.submit(
            RowRequest(
                prompt=self._fitted.prompt.token_ids,
                sampling=msgspec.structs.replace(sampling, seed=seed),
                captures=request.captures,
                max_tokens=self.output_token_limit,
                end_ids=text.end_ids,
                cancellation=self._cancellation,
                forced_prefix=request.forced_prefix,
            )
        )
        prompt = self._fitted.prompt
        assembler = MessageAssembler(
            text,
            stop=request.stop,
            opens_thinking=prompt.opens_thinking,
            closes_by_spelling=prompt.closes_by_spelling,
            continues=request.continue_last,
        )
        at_limit = FinishReason.CONTEXT_FULL if self.output_token_limit == self._room else FinishReason.MAX_TOKENS
        return GenerationRun(row, assembler, seed, self._fitted, at_limit, self._stopwatch, self._let_go)

    async def release(self) -> None:
        self._let_go()


class GenerationRun:
    """One row from its first prompt token to the last one published; owns the row and a hold on the model.

    `at_limit` is what reaching the row's limit means: the caller's wish, or the end of the context.
    """

    def __init__(
        self,
        row: Row,
        assembler: MessageAssembler,
        seed: int,
        fitted: FittedPrompt,
        at_limit: FinishReason,
        stopwatch: Stopwatch,
        let_go: Callable[[], None],
    ) -> None:
        self._row = row
        self._assembler = assembler
        self._seed = seed
        self._fitted = fitted
        self._at_limit = at_limit
        self._cached_tokens = 0
        self._generated_tokens = 0
        self._stopwatch = stopwatch
        self._let_go = let_go

    async def execute(self, output: Output) -> GenerationResult:
        while not self._assembler.stopped and (step := await self._row.next_step()) is not None:
            await self._publish_step(output, step)
        await commit_tokens(output, self._assembler.finish())
        return GenerationResult(
            finish_reason=self._finish_reason,
            prompt_tokens=len(self._fitted.prompt.token_ids),
            cached_tokens=self._cached_tokens,
            generated_tokens=self._generated_tokens,
            seed=self._seed,
            first_token_seconds=self._stopwatch.first_token_seconds,
            decode_seconds=self._stopwatch.decode_seconds,
            left_out=self._fitted.fit.left_out,
        )

    async def close(self) -> None:
        self._row.close()
        self._let_go()

    @property
    def _finish_reason(self) -> FinishReason:
        if self._assembler.stopped:
            return FinishReason.STOP_STRING
        reason = self._row.finish_reason or FinishReason.END_OF_TURN
        return self._at_limit if reason is FinishReason.MAX_TOKENS else reason

    async def _publish_step(self, output: Output, step: RowProgress | SampledToken) -> None:
        match step:
            case RowProgress(read=read, total=total, cached=cached):
                self._cached_tokens = cached
                await output.progress(read, total, PREFILL)
            case SampledToken(id=token_id, logprobs=logprobs):
                self._stopwatch.token_arrived()
                self._generated_tokens += 1
                await commit_tokens(output, self._assembler.push(token_id, logprobs))

"""The method behind a scoring: given tokens in, the same tokens with their numbers out."""

from collections.abc import Callable

from engine.backend.publishing import PREFILL, check_context, commit_tokens
from engine.backend.residents import ResidentModel, ResidentModels
from engine.backend.row import Row, RowProgress, RowRequest, SampledToken
from engine.contracts import Cancellation, Clock, Output, SamplingSettings, ScoreRequest, ScoreResult
from engine.text.assembly import MessageAssembler

_NOTHING_IS_DRAWN = SamplingSettings(temperature=0.0, seed=0)


async def plan_scoring(
    residents: ResidentModels, clock: Clock, request: ScoreRequest, cancellation: Cancellation
) -> "ScoringPlan":
    """Load the model if need be, encode what is to be scored, and check that it fits.

    Raises `ProblemError`: whatever loading, the template and the context have to say.
    """
    resident = await residents.obtain(request.model, cancellation)
    let_go = resident.retain()
    try:
        token_ids = (*await _prompt(resident, request), *request.token_ids)
        check_context(len(token_ids), resident.loaded.context_length)
    except BaseException:
        let_go()
        raise
    return ScoringPlan(request, resident, let_go, token_ids, cancellation, clock)


async def _prompt(resident: ResidentModel, request: ScoreRequest) -> tuple[int, ...]:
    if not request.messages and request.token_ids:
        return ()
    prompt = await resident.text.encode_chat_in_slices(
        request.messages, thinking=request.thinking, continue_last=request.continue_last, raw=request.raw
    )
    return prompt.token_ids


class ScoringPlan:
    """Tokens that fit, on a model that stays in memory until the plan, or its run, lets go of it."""

    def __init__(
        self,
        request: ScoreRequest,
        resident: ResidentModel,
        let_go: Callable[[], None],
        token_ids: tuple[int, ...],
        cancellation: Cancellation,
        clock: Clock,
    ) -> None:
        self._request = request
        self._resident = resident
        self._let_go = let_go
        self._token_ids = token_ids
        self._cancellation = cancellation
        self._clock = clock

    @property
    def output_token_limit(self) -> int:
        return len(self._token_ids)

    async def create_run(self) -> "ScoringRun":
        row = self._resident.group.submit(
            RowRequest(
                prompt=(),
                sampling=_NOTHING_IS_DRAWN,
                captures=self._request.captures,
                max_tokens=len(self._token_ids),
                end_ids=frozenset(),
                cancellation=self._cancellation,
                forced_prefix=self._token_ids,
            )
        )
        return ScoringRun(row, MessageAssembler(self._resident.text), self._clock, self._let_go)

    async def release(self) -> None:
        self._let_go()


class ScoringRun:
    """One row that is read and measured; owns the row and a hold on the model."""

    def __init__(self, row: Row, assembler: MessageAssembler, clock: Clock, let_go: Callable[[], None]) -> None:
        self._row = row
        self._assembler = assembler
        self._clock = clock
        self._let_go = let_go
        self._tokens = 0

    async def execute(self, output: Output) -> ScoreResult:
        started_ms = self._clock.now_ms()
        while (step := await self._row.next_step()) is not None:
            match step:
                case RowProgress(read=read, total=total):
                    await output.progress(read, total, PREFILL)
                case SampledToken(id=token_id, logprobs=logprobs):
                    self._tokens += 1
                    await commit_tokens(output, self._assembler.push(token_id, logprobs))
        await commit_tokens(output, self._assembler.finish())
        return ScoreResult(tokens=self._tokens, seconds=(self._clock.now_ms() - started_ms) / 1000)

    async def close(self) -> None:
        self._row.close()
        self._let_go()

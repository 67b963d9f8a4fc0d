"""What a run publishes, in each of the three output modes."""

import asyncio
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from engine.contracts import (
    Cancelled,
    Committed,
    Completed,
    Failed,
    Output,
    Progress,
    TokenLogprobs,
    TokenPiece,
    TopLogprob,
)
from engine.execution.batches import TokenBatch
from engine.execution.modes import Callback, Collect
from engine.execution.refusals import Refusal, RefusedError
from engine.execution.session import GenerationSession, SessionLimits
from tests.engine.execution.fakes import FakeMethod, Lent, ManualClock, committing, settle

LIMITS = SessionLimits(max_queued_events=8, max_queued_tokens=2, max_top_logprobs=1)


def streaming(execute: Callable[[Output], Awaitable[Any]], limit: int = 1000) -> GenerationSession[Any]:
    return GenerationSession(FakeMethod(execute, limit=limit).prepare, clock=ManualClock(), limits=LIMITS)


def pieces(*texts: str) -> list[TokenPiece]:
    return [TokenPiece(number, text.encode(), text, number, number + 1) for number, text in enumerate(texts)]


async def refusal_of(publication: Awaitable[object]) -> Refusal | None:
    try:
        await publication
    except RefusedError as error:
        return error.refusal
    return None


async def test_a_split_batch_shares_out_its_logprobs_and_pieces() -> None:
    logprobs = [TokenLogprobs(-1.0), None, TokenLogprobs(-3.0)]
    spelled = pieces("a", "b", "c")

    async def execute(output: Output) -> None:
        await output.commit([1, 2, 3], logprobs, spelled)

    events = [event async for event in streaming(execute)]

    assert events == [
        Committed(0, (1, 2), (logprobs[0], None), tuple(spelled[:2])),
        Committed(1, (3,), (logprobs[2],), tuple(spelled[2:])),
    ]


async def test_a_progress_event_keeps_its_total_and_phase() -> None:
    async def execute(output: Output) -> None:
        await output.progress(1, 2.5, "prefill")
        await output.progress(10**400)

    assert [event async for event in streaming(execute)] == [Progress(1, 2.5, "prefill"), Progress(10**400)]


@pytest.mark.parametrize(
    ("publish", "refusal"),
    [
        (lambda out: out.commit([True]), Refusal.INVALID_TOKEN_ID),
        (lambda out: out.commit([3.0]), Refusal.INVALID_TOKEN_ID),
        (lambda out: out.commit([2**32]), Refusal.INVALID_TOKEN_ID),
        (lambda out: out.commit([-1]), Refusal.INVALID_TOKEN_ID),
        (lambda out: out.commit([0] * 11), Refusal.OUTPUT_LIMIT_EXCEEDED),
        (lambda out: out.commit([-1], []), Refusal.LOGPROBS_MISALIGNED),
        (
            lambda out: out.commit([-1], [TokenLogprobs(top=(TopLogprob(1), TopLogprob(2)))]),
            Refusal.TOP_LOGPROBS_OVER_CAPACITY,
        ),
        (lambda out: out.commit([-1], [TokenLogprobs(top=(TopLogprob(1),))], []), Refusal.PIECES_MISALIGNED),
        (lambda out: out.progress(float("nan")), Refusal.INVALID_PROGRESS),
        (lambda out: out.progress(float("inf")), Refusal.INVALID_PROGRESS),
        (lambda out: out.progress(-1), Refusal.INVALID_PROGRESS),
        (lambda out: out.progress("1"), Refusal.INVALID_PROGRESS),
        (lambda out: out.progress(2, 1), Refusal.INVALID_PROGRESS),
        (lambda out: out.progress(0, float("nan")), Refusal.INVALID_PROGRESS),
    ],
)
async def test_p8_what_is_refused_leaves_no_trace(publish: Callable[[Any], Any], refusal: Refusal) -> None:
    refusals: list[Refusal | None] = []

    async def execute(output: Output) -> None:
        refusals.append(await refusal_of(publish(output)))
        await output.commit([2**32 - 1, 0])

    session = streaming(execute, limit=10)

    assert [event async for event in session] == [Committed(0, (2**32 - 1, 0))]
    assert refusals == [refusal]
    assert await session.outcome() == Completed(None, 2)


async def test_p9_zero_and_empty_are_values() -> None:
    async def execute(output: Output) -> None:
        await output.commit([1], [TokenLogprobs(0.0, ())])
        await output.commit([], [], [])
        await output.progress(0, 0)

    session = streaming(execute, limit=1)

    assert [event async for event in session] == [Committed(0, (1,), (TokenLogprobs(0.0, ()),)), Progress(0, 0)]


@pytest.mark.parametrize("limit", [True, 1.0, "1", None, -1, 2**53])
async def test_p8_a_limit_is_a_whole_number(limit: Any) -> None:
    outcome = await _collected(FakeMethod(limit=limit), Lent(1))

    assert isinstance(outcome, Failed)
    assert outcome.error.message == str(RefusedError(Refusal.INVALID_OUTPUT_LIMIT))


@pytest.mark.parametrize("limit", [0, 2**53 - 1])
async def test_the_extreme_limits_pass(limit: int) -> None:
    assert await _collected(FakeMethod(limit=limit), Lent(0)) == Completed(None, 0, memoryview(array("I")))


async def test_l15_a_callback_gets_a_batch_of_its_own() -> None:
    batches: list[TokenBatch] = []

    async def execute(output: Output) -> None:
        tokens, logprobs, spelled = [1, 2, 3], [None, None, TokenLogprobs(-1.0)], pieces("a", "b", "c")
        await output.commit(tokens, logprobs, spelled)
        tokens.append(4)
        logprobs.clear()
        spelled.clear()

    session = GenerationSession(
        FakeMethod(execute).prepare, clock=ManualClock(), limits=LIMITS, mode=Callback(batches.append)
    )

    assert await session.outcome() == Completed(None, 3)
    assert batches == [TokenBatch((1, 2, 3), (None, None, TokenLogprobs(-1.0)), tuple(pieces("a", "b", "c")))]


async def test_l16_the_copy_is_made_at_the_call() -> None:
    tokens = [1, 2, 3, 4]

    async def execute(output: Output) -> None:
        publication = asyncio.ensure_future(output.commit(tokens))
        await asyncio.sleep(0)
        tokens[:] = [9] * 9
        await publication

    limits = SessionLimits(max_queued_events=1, max_queued_tokens=2)
    session = GenerationSession(FakeMethod(execute).prepare, clock=ManualClock(), limits=limits)

    assert [event async for event in session] == [Committed(0, (1, 2)), Committed(1, (3, 4))]


async def test_l4_nothing_is_queued_between_a_read_and_a_cancellation() -> None:
    limits = SessionLimits(max_queued_events=1)
    method = FakeMethod(lambda output: committing(output, 1, 2, 3))
    session = GenerationSession(method.prepare, clock=ManualClock(), limits=limits)
    reader = session.__aiter__()
    await anext(reader)
    await settle()
    # The read makes room for token 3, and the producer is woken; before it runs, the session is cancelled.
    assert await anext(reader) == Committed(1, (2,))
    await session.cancel()

    assert [event async for event in reader] == []
    assert await session.outcome() == Cancelled("requested", 2)


async def test_l5_a_publication_begun_and_not_awaited_is_over_before_the_run_is_closed() -> None:
    refusals: list[Refusal | None] = []
    tasks: list[asyncio.Task[None]] = []

    async def publish(output: Output) -> None:
        refusals.append(await refusal_of(output.commit([3, 4])))
        refusals.append(await refusal_of(output.commit([5])))

    async def execute(output: Output) -> None:
        await committing(output, 1, 2)
        tasks.append(asyncio.create_task(publish(output)))
        await asyncio.sleep(0)

    async def close() -> None:
        assert refusals == [Refusal.PUBLICATION_OUTSIDE_EXECUTION] * 2

    limits = SessionLimits(max_queued_events=1)
    session = GenerationSession(FakeMethod(execute, close=close).prepare, clock=ManualClock(), limits=limits)
    reader = session.__aiter__()
    first = await anext(reader)
    await settle()

    assert session.state == "terminal", "nobody has to read on for that"
    assert [first, *[event async for event in reader]] == [Committed(0, (1,)), Committed(1, (2,))]
    assert await session.outcome() == Completed(None, 2)


async def test_l6_a_callback_still_running_is_waited_for_before_the_run_is_closed() -> None:
    gate, ended, tasks = asyncio.Event(), list[str](), list[asyncio.Future[Any]]()

    async def on_tokens(_batch: object) -> None:
        await gate.wait()
        ended.append("callback")

    async def publish(output: Output) -> None:
        await output.commit([1])
        assert await refusal_of(output.commit([2])) is Refusal.PUBLICATION_OUTSIDE_EXECUTION
        ended.append("publisher")

    async def execute(output: Output) -> None:
        tasks.append(asyncio.ensure_future(publish(output)))
        await asyncio.sleep(0)

    async def close() -> None:
        ended.append("close")

    method = FakeMethod(execute, close=close)
    session = GenerationSession(method.prepare, clock=ManualClock(), mode=Callback(on_tokens))
    await settle()
    assert session.state == "settling"
    gate.set()

    assert await session.outcome() == Completed(None, 1)
    assert ended == ["callback", "publisher", "close"]


async def test_a_collecting_session_has_no_place_for_logprobs_or_pieces() -> None:
    refusals: list[Refusal | None] = []

    async def execute(output: Output) -> None:
        refusals.append(await refusal_of(output.commit([1], [None])))
        refusals.append(await refusal_of(output.commit([1], None, pieces("a"))))
        await output.commit([7, 8])
        await output.commit([9])

    outcome = await _collected(FakeMethod(execute), Lent(3))

    assert refusals == [Refusal.LOGPROBS_NEED_STREAM, Refusal.PIECES_NEED_STREAM]
    assert outcome.output.tolist() == [7, 8, 9]


async def test_p11_the_outcome_of_a_collecting_session_is_a_view_of_the_lent_buffer() -> None:
    lent = Lent(3)

    outcome = await _collected(FakeMethod(lambda output: committing(output, 7, 8)), lent)

    assert outcome.output.obj is lent.tokens
    assert lent.releases == 1
    with pytest.raises(BufferError):
        lent.tokens.append(0)


async def test_p11_a_lender_may_release_its_own_view_of_the_buffer() -> None:
    class Revoking(Lent):
        def release(self) -> None:
            self.buffer.release()

    outcome = await _collected(FakeMethod(lambda output: committing(output, 7)), Revoking(3))

    assert outcome == Completed(None, 1, memoryview(array("I", [7])))


async def test_p10_a_publication_from_another_loop_is_refused_and_one_handed_over_is_taken() -> None:
    loop = asyncio.get_running_loop()
    refusals: list[Refusal | None] = []

    async def execute(output: Output) -> None:
        refusals.append(await asyncio.to_thread(asyncio.run, refusal_of(output.commit([1]))))
        handed_over = asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(committing(output, 2), loop).result())
        await handed_over

    session = streaming(execute)

    assert [event async for event in session] == [Committed(0, (2,))]
    assert refusals == [Refusal.FOREIGN_LOOP]


async def _collected(method: FakeMethod, lent: Lent) -> Any:
    return await GenerationSession(method.prepare, clock=ManualClock(), mode=Collect(lambda _: lent)).outcome()

"""The reading end of an answer."""

import asyncio

import pytest

from engine.backend.row import Row, RowProgress, SampledToken
from engine.contracts import FinishReason, SessionCancelledError
from tests.engine.backend.driving import ManualCancellation, request


@pytest.fixture
def cancellation() -> ManualCancellation:
    return ManualCancellation()


@pytest.fixture
def changes() -> list[str]:
    """One entry for each time the group was told to look."""
    return []


@pytest.fixture
def row(cancellation: ManualCancellation, changes: list[str]) -> Row:
    return Row(request([1], cancellation=cancellation), 4, lambda: changes.append("change"))


def token(token_id: int) -> SampledToken:
    return SampledToken(token_id, None)


async def test_steps_come_in_order_with_the_latest_progress_first(row: Row) -> None:
    row.report_progress(RowProgress(1, 9, 0))
    row.report_progress(RowProgress(9, 9, 0))
    row.deliver(token(5))
    row.deliver(token(6))
    row.finish(FinishReason.END_OF_TURN)

    steps = [await row.next_step() for _ in range(4)]

    assert steps == [RowProgress(9, 9, 0), token(5), token(6), None]
    assert row.finish_reason is FinishReason.END_OF_TURN


async def test_the_end_can_be_asked_for_again(row: Row) -> None:
    row.finish(FinishReason.MAX_TOKENS)

    assert await row.next_step() is None
    assert await row.next_step() is None


async def test_a_waiting_reader_gets_what_comes(row: Row) -> None:
    reader = asyncio.create_task(row.next_step())
    await asyncio.sleep(0)

    row.deliver(token(7))

    assert await reader == token(7)


async def test_a_reader_that_gives_up_waiting_loses_nothing(row: Row) -> None:
    reader = asyncio.create_task(row.next_step())
    await asyncio.sleep(0)
    row.deliver(token(7))
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader

    assert await row.next_step() == token(7)


async def test_a_second_reader_is_refused_and_disturbs_nobody(row: Row) -> None:
    reader = asyncio.create_task(row.next_step())
    await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="one reader"):
        await row.next_step()

    row.deliver(token(7))
    assert await reader == token(7)


async def test_a_failure_comes_after_the_tokens_before_it(row: Row) -> None:
    error = ValueError("broken")
    row.deliver(token(7))
    row.fail(error)

    assert await row.next_step() == token(7)
    with pytest.raises(ValueError, match="broken") as raised:
        await row.next_step()
    assert raised.value is error
    assert row.finish_reason is None


async def test_the_first_ending_counts(row: Row) -> None:
    row.finish(FinishReason.MAX_TOKENS)
    row.fail(ValueError("too late"))
    row.deliver(token(7))

    assert await row.next_step() is None


async def test_a_cancelled_reader_hears_of_it_when_the_row_has_left_the_group(
    row: Row, cancellation: ManualCancellation, changes: list[str]
) -> None:
    reader = asyncio.create_task(row.next_step())
    await asyncio.sleep(0)

    cancellation.cancel("consumer_closed")
    await asyncio.sleep(0)

    assert changes == ["change"]
    assert not reader.done()
    row.leave()
    with pytest.raises(SessionCancelledError) as raised:
        await reader
    assert raised.value.reason == "consumer_closed"


async def test_a_closed_row_is_dropped_and_takes_nothing_more(row: Row, changes: list[str]) -> None:
    row.deliver(token(7))

    row.close()
    row.close()
    row.deliver(token(8))

    assert changes == ["change"]
    assert row.is_dropped
    row.leave()
    assert await row.next_step() is None


async def test_the_group_is_told_when_a_reader_has_caught_up_by_half(row: Row, changes: list[str]) -> None:
    for token_id in range(4):
        row.deliver(token(token_id))
    assert (row.room, row.has_drained) == (0, False)

    await row.next_step()
    assert changes == []
    await row.next_step()

    assert changes == ["change"]
    assert (row.room, row.has_drained) == (2, True)

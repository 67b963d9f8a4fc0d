"""How the size of a chunk follows the time it takes."""

import pytest

from engine.backend.chunk_size import LARGEST, SMALLEST, ChunkSize


def learned(size: int, *units: tuple[int, float], target_ms: float = 100.0) -> int:
    chunk = ChunkSize(size)
    for tokens, elapsed_ms in units:
        chunk.learn(tokens, elapsed_ms, target_ms)
    return chunk.tokens


def test_a_full_chunk_in_the_target_time_stays() -> None:
    assert learned(256, (256, 100.0)) == 256


def test_a_slow_chunk_shrinks_and_a_fast_one_grows() -> None:
    assert learned(256, (256, 160.0)) == 160
    assert learned(256, (256, 80.0)) == 320


def test_one_unit_changes_the_size_by_no_more_than_a_factor_of_two() -> None:
    assert learned(256, (256, 1.0)) == 512
    assert learned(256, (256, 10_000.0)) == 128


def test_the_bounds_hold() -> None:
    assert learned(64, *[(64, 10_000.0)] * 5) == SMALLEST
    assert learned(1024, (1024, 1.0), (2048, 1.0)) == LARGEST


@pytest.mark.parametrize("unit", [(3, 60.0), (3, 500.0), (100, 60.0)])
def test_the_short_end_of_a_prompt_says_nothing(unit: tuple[int, float]) -> None:
    assert learned(256, unit) == 256


def test_a_part_of_a_chunk_that_takes_too_long_is_a_warning() -> None:
    assert learned(256, (128, 200.0)) == 128


def test_another_target_leads_to_another_size() -> None:
    assert learned(128, *[(128, 100.0)], target_ms=50.0) == 64

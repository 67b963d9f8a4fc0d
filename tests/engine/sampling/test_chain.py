"""From logits to tokens: filters, penalties, seeds."""

import math
from collections.abc import Callable, Sequence

import mlx.core as mx
import pytest

from engine.contracts import SamplingSettings
from engine.sampling.chain import Chain, Draw, RowDraw
from engine.sampling.mlx_lm_parts import import_part

mlx_lm = import_part("sample_utils")

VOCABULARY = 50


def logits(rows: int, seed: int = 1) -> mx.array:
    return mx.random.normal((rows, VOCABULARY), key=mx.random.key(seed)) * 3


def draw(
    settings: Sequence[SamplingSettings], table: mx.array, number: int = 0, recent: Sequence[int] = (), last: int = 0
) -> Draw:
    rows = [RowDraw(number, recent)] * len(settings)
    return Chain(settings)(table, mx.array([last] * len(settings)), rows)


def tokens(settings: Sequence[SamplingSettings], table: mx.array, number: int) -> list[int]:
    drawn: list[int] = draw(settings, table, number).tokens.tolist()  # type: ignore[assignment]
    return drawn


def test_temperature_zero_takes_the_best_token() -> None:
    table = logits(4)

    drawn = tokens([SamplingSettings(temperature=0.0, seed=0)] * 4, table, 0)

    assert drawn == mx.argmax(table, axis=-1).tolist()


def test_a_row_draws_the_same_beside_any_others() -> None:
    table = logits(3)
    settings = [
        SamplingSettings(temperature=1.0, seed=5),
        SamplingSettings(temperature=0.7, top_p=0.9, seed=6),
        SamplingSettings(temperature=0.0, top_k=3, seed=7),
    ]
    for number in range(20):
        alone = [tokens([each], table[row : row + 1], number)[0] for row, each in enumerate(settings)]
        assert tokens(settings, table, number) == alone


def test_draws_follow_the_distribution() -> None:
    table = mx.log(mx.array([[0.7, 0.2, 0.1]]))
    settings = SamplingSettings(temperature=1.0, seed=3)

    drawn = [tokens([settings], table, number)[0] for number in range(2000)]

    assert [drawn.count(token) / 2000 for token in range(3)] == pytest.approx([0.7, 0.2, 0.1], abs=0.03)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (SamplingSettings(top_p=0.6, seed=1), lambda table: mlx_lm.apply_top_p(table, 0.6)),
        (SamplingSettings(top_k=4, seed=1), lambda table: mlx_lm.apply_top_k(table, 4)),
        (SamplingSettings(min_p=0.2, seed=1), lambda table: mlx_lm.apply_min_p(table, 0.2)),
        (
            SamplingSettings(top_p=0.9, min_p=0.05, top_k=6, seed=1),
            lambda table: mlx_lm.apply_top_k(mlx_lm.apply_min_p(mlx_lm.apply_top_p(table, 0.9), 0.05), 6),
        ),
    ],
)
def test_filters_keep_what_mlx_lm_keeps(settings: SamplingSettings, expected: Callable[[mx.array], mx.array]) -> None:
    table = logits(1)

    drawn = draw([SamplingSettings(seed=0), settings], mx.concatenate([table, table])).filtered[-1][1][1:]

    reference = expected(table - mx.logsumexp(table, axis=-1, keepdims=True))
    assert mx.allclose(drawn, reference, atol=1e-5).item()
    assert mx.any(reference == -math.inf).item()


def test_the_smallest_temperature_takes_the_best_token() -> None:
    table = logits(4)

    drawn = tokens([SamplingSettings(temperature=1e-38, seed=row) for row in range(4)], table, 0)

    assert drawn == mx.argmax(table, axis=-1).tolist()


def test_a_top_k_beyond_the_vocabulary_keeps_everything() -> None:
    assert draw([SamplingSettings(top_k=VOCABULARY, seed=1)], logits(1)).filtered == ()


def test_penalties_and_bias_are_mlx_lms() -> None:
    table, history = logits(1), [3, 4, 4, 9, 3, 3]
    settings = SamplingSettings(
        repetition_penalty=1.3,
        presence_penalty=0.4,
        frequency_penalty=0.25,
        penalty_window=4,
        logit_bias={3: 2.0, 11: -1.5},
        seed=0,
    )
    expected = table
    # mlx-lm's frequency penalty counts a token as often as it occurs; all three look at the same window.
    for processor in mlx_lm.make_logits_processors({3: 2.0, 11: -1.5}, 1.3, 4, 0.4, 4, 0.25, 4):
        expected = processor(mx.array(history), mx.array(expected))

    adjusted = draw([settings], table, recent=history[:-1], last=history[-1]).adjusted

    assert mx.allclose(adjusted, expected, atol=1e-5).item()


def test_a_row_without_penalties_is_untouched_beside_one_with_them() -> None:
    table = logits(2)
    settings = [SamplingSettings(seed=0), SamplingSettings(repetition_penalty=2.0, seed=0)]

    adjusted = draw(settings, table, recent=[1, 2], last=3).adjusted

    assert mx.array_equal(adjusted[0], table[0]).item()
    assert not mx.array_equal(adjusted[1], table[1]).item()

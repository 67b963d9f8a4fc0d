"""What is measured of a drawn token."""

import math
import sys
import tracemalloc
from collections.abc import Sequence

import mlx.core as mx
import pytest

from engine.contracts import CaptureSettings, SamplingSettings, TokenLogprobs
from engine.sampling.captures import CapturePlan, measure
from engine.sampling.chain import Chain, RowDraw
from engine.sampling.top_ids import top_ids

EVERYTHING = CaptureSettings(logprob=True, top_k=5, stages=True, entropy=True, rank=True)


def table(probabilities: Sequence[float]) -> mx.array:
    return mx.log(mx.array([probabilities]))


def record(
    logits: mx.array, settings: SamplingSettings, captures: CaptureSettings = EVERYTHING, last: int = 0
) -> TokenLogprobs:
    draw = Chain([settings])(logits, mx.array([last]), [RowDraw(0, ())])
    found = measure(draw, CapturePlan.of([captures])).read().record(0, captures, greedy=settings.temperature == 0)
    assert found is not None
    return found


def test_what_is_off_is_absent() -> None:
    logits = table([0.5, 0.3, 0.2])

    found = record(logits, SamplingSettings(seed=0), CaptureSettings())

    assert found.logprob is not None
    assert (found.top, found.adjusted, found.sampled, found.rank, found.entropy) == (None, None, None, None, None)


def test_a_row_that_wants_nothing_gets_no_record_beside_one_that_wants_much() -> None:
    nothing = CaptureSettings(logprob=False)
    settings = [SamplingSettings(seed=0), SamplingSettings(seed=1)]
    draw = Chain(settings)(mx.zeros((2, 9)), mx.array([0, 0]), [RowDraw(0, ()), RowDraw(0, ())])

    readings = measure(draw, CapturePlan.of([nothing, EVERYTHING])).read()

    assert readings.record(0, nothing, greedy=False) is None
    assert readings.record(1, EVERYTHING, greedy=False) is not None


def test_entropy_and_rank_are_of_the_models_distribution() -> None:
    probabilities = [0.1, 0.6, 0.3]

    found = record(table(probabilities), SamplingSettings(temperature=0.0, seed=0))

    assert found.entropy == pytest.approx(-sum(p * math.log(p) for p in probabilities), abs=1e-5)
    assert found.rank == 0
    assert found.logprob == pytest.approx(math.log(0.6), abs=1e-5)


def test_the_models_column_is_the_same_whatever_the_sampler_does() -> None:
    logits = table([0.05, 0.5, 0.25, 0.2])
    settings = [
        SamplingSettings(temperature=0.0, seed=0),
        SamplingSettings(temperature=1.5, seed=0),
        SamplingSettings(top_p=0.1, seed=0),
        SamplingSettings(repetition_penalty=1.3, seed=0),
    ]

    columns = [[(it.id, it.logprob) for it in record(logits, each).top or ()] for each in settings]

    assert all(column == columns[0] for column in columns)
    assert [token_id for token_id, _ in columns[0]] == [1, 2, 3, 0]


def test_at_temperature_zero_everything_but_the_best_is_excluded_as_greedy() -> None:
    found = record(table([0.2, 0.5, 0.3]), SamplingSettings(temperature=0.0, top_k=2, seed=0))

    assert found.top is not None
    assert [(it.sampled, it.excluded_by) for it in found.top] == [
        (0.0, None),
        (-math.inf, "greedy"),
        (-math.inf, "greedy"),
    ]
    assert found.sampled == 0.0


def test_a_higher_temperature_flattens_the_distribution_drawn_from() -> None:
    found = record(table([0.2, 0.5, 0.3]), SamplingSettings(temperature=1.5, seed=0))

    weights = [p ** (1 / 1.5) for p in (0.5, 0.3, 0.2)]
    assert found.top is not None
    assert [it.sampled for it in found.top] == pytest.approx([math.log(w / sum(weights)) for w in weights], abs=1e-5)


def test_an_excluded_token_names_the_first_filter_that_removed_it() -> None:
    logits = table([0.4, 0.3, 0.2, 0.06, 0.04])
    settings = SamplingSettings(top_p=0.89, min_p=0.6, top_k=1, seed=0)

    found = record(logits, settings)

    assert [it.excluded_by for it in found.top or ()] == [None, "top_k", "min_p", "top_p", "top_p"]


def test_penalties_change_the_adjusted_column_alone() -> None:
    settings = SamplingSettings(presence_penalty=1.0, seed=0)

    plain, punished = (record(table([0.5, 0.3, 0.2]), each, last=0) for each in (SamplingSettings(seed=0), settings))

    assert [it.logprob for it in punished.top or ()] == [it.logprob for it in plain.top or ()]
    weights = [0.5 / math.e, 0.3, 0.2]
    assert [it.adjusted for it in punished.top or ()] == pytest.approx(
        [math.log(w / sum(weights)) for w in weights], abs=1e-5
    )


def test_a_token_with_an_infinite_bias_is_excluded_by_the_bias() -> None:
    found = record(table([0.5, 0.5]), SamplingSettings(logit_bias={0: -math.inf}, seed=0))

    assert [(it.id, it.excluded_by) for it in found.top or ()] == [(0, "logit_bias"), (1, None)]


def test_equal_candidates_stand_in_the_order_of_their_ids() -> None:
    found = record(mx.zeros((1, 4)), SamplingSettings(seed=0))

    assert [it.id for it in found.top or ()] == [0, 1, 2, 3]


@pytest.mark.parametrize(("vocabulary", "count"), [(7, 3), (7, 100), (1000, 5), (1024, 8), (5003, 100)])
def test_the_top_ids_are_those_of_a_full_sort(vocabulary: int, count: int) -> None:
    logits = mx.random.normal((3, vocabulary), key=mx.random.key(count))

    found = top_ids(logits, count).tolist()

    expected = mx.argsort(-logits, axis=-1)[:, :count].tolist()
    assert [sorted(row) for row in found] == [sorted(row) for row in expected]  # type: ignore[arg-type, union-attr]


def test_no_candidate_lies_outside_the_vocabulary_when_all_are_impossible() -> None:
    found = top_ids(mx.full((1, 1000), -math.inf), 5)

    assert mx.all(found < 1000).item()


def test_ten_candidates_a_token_keep_less_than_a_kilobyte_and_a_half() -> None:
    captures = CaptureSettings(top_k=10, entropy=True, rank=True)
    logits = mx.random.normal((400, 4096), key=mx.random.key(1))
    settings = [SamplingSettings(temperature=0.0, seed=0)] * 400
    draw = Chain(settings)(logits, mx.zeros(400, dtype=mx.uint32), [RowDraw(0, ())] * 400)
    readings = measure(draw, CapturePlan.of([captures])).read()

    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        records = [readings.record(row, captures, greedy=True) for row in range(400)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    # The readings own numbers that the records share; the records' share of those is counted apart.
    numbers = 10 * (sys.getsizeof(1.0) + sys.getsizeof(1 << 20)) + 3 * sys.getsizeof(1.0)
    assert (after - before) / len(records) + numbers < 1536

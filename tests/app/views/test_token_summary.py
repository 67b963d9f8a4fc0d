"""A token's card says what was measured, and of what."""

import math

from app.views.token_summary import MAX_ALTERNATIVES, summarise
from engine.contracts import Removal, TokenLogprobs, TokenPiece, TopLogprob

PIECE = TokenPiece(7, b" sky", " sky", 0, 4)


def top(*logprobs: float | None, first_id: int = 100) -> tuple[TopLogprob, ...]:
    return tuple(TopLogprob(first_id + place, logprob, b"x%d" % place) for place, logprob in enumerate(logprobs))


def test_the_probability_is_the_models_own() -> None:
    summary = summarise(PIECE, TokenLogprobs(logprob=math.log(0.632), adjusted=math.log(0.5), sampled=0.0))

    assert (summary.label, summary.percent) == ("·sky", "63.2 %")
    assert summary.facts == (("after penalties and bias", "50.0 %"), ("when drawn", "100 %"))


def test_what_was_not_measured_is_said_to_be_not_measured() -> None:
    summary = summarise(PIECE, None)

    assert summary.percent == "not measured"
    assert (summary.facts, summary.alternatives, summary.rest) == ((), (), None)


def test_rank_counts_from_one_and_entropy_is_in_bits() -> None:
    summary = summarise(PIECE, TokenLogprobs(logprob=-1.0, rank=0, entropy=math.log(8)))

    assert summary.facts == (("rank", "1"), ("entropy", "3.00 bits"))


def test_a_chosen_token_outside_the_list_is_listed_last_and_marked() -> None:
    chosen = math.log(1e-6)
    summary = summarise(PIECE, TokenLogprobs(logprob=chosen, top=top(math.log(0.6), math.log(0.3)), rank=812))

    assert [each.chosen for each in summary.alternatives] == [False, False, True]
    assert summary.alternatives[-1].percent == "0.0001 %"


def test_exactly_one_line_is_marked_when_probabilities_are_equal() -> None:
    listed = (TopLogprob(6, math.log(0.4), b"a"), TopLogprob(7, math.log(0.4), b" sky"))
    summary = summarise(PIECE, TokenLogprobs(logprob=math.log(0.4), top=listed))

    assert [each.chosen for each in summary.alternatives] == [False, True]
    assert summary.rest == "20.0 %"


def test_everything_else_is_what_the_listed_leave_over() -> None:
    many = top(*[math.log(0.05)] * 19)
    summary = summarise(PIECE, TokenLogprobs(logprob=math.log(0.01), top=many))

    assert len(summary.alternatives) == MAX_ALTERNATIVES + 1
    assert summary.rest == "59.0 %"


def test_a_sum_above_one_by_rounding_leaves_almost_nothing_over() -> None:
    summary = summarise(PIECE, TokenLogprobs(logprob=math.log(0.5), top=top(math.log(0.5000001))))

    assert summary.rest == "<0.0001 %"


def test_a_value_without_a_number_disturbs_no_bar_and_hides_the_rest() -> None:
    listed = (TopLogprob(7, math.nan, b" sky"), TopLogprob(8, -math.inf, b"no"), TopLogprob(9, math.log(0.5), b"ok"))
    summary = summarise(PIECE, TokenLogprobs(logprob=math.nan, top=listed))

    assert [each.share for each in summary.alternatives] == [0.0, 0.0, 0.5]
    assert [each.percent for each in summary.alternatives] == ["unavailable", "excluded", "50.0 %"]
    assert summary.rest is None


def test_what_a_filter_cut_names_the_filter() -> None:
    listed = (TopLogprob(8, math.log(0.1), b"no", sampled=-math.inf, excluded_by="top-p"),)
    summary = summarise(PIECE, TokenLogprobs(logprob=math.log(0.9), top=listed))

    assert summary.alternatives[0].note == "cut by top-p"


def test_a_token_says_what_is_particular_about_it() -> None:
    assert summarise(TokenPiece(2, b"<|im_end|>", "", 4, 4, special=True), None).kind == "special token · id 2"
    assert summarise(TokenPiece(3, b"\xf0\x9f", "", 4, 5), None).kind == "part of a character · id 3"
    stopped = TokenPiece(4, b"beta", "", 4, 4, removed=Removal.STOP_STRING)
    assert summarise(stopped, None).kind == "removed by a stop string · id 4"


def test_a_screen_reader_hears_one_sentence() -> None:
    measured = TokenLogprobs(logprob=math.log(0.632), rank=0, top=(TopLogprob(8, math.log(0.2), b" sea"),))

    assert summarise(PIECE, measured).sentence == (
        "Token ·sky, model probability 63.2 %, rank 1; alternatives: ·sea 20.0 %."
    )

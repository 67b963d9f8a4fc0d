"""Probabilities stay true at the extremes."""

import math

import pytest

from app.views.probability_text import percent_text, probability_of


@pytest.mark.parametrize(
    ("logprob", "text"),
    [
        (math.log(0.632), "63.2 %"),
        (math.log(0.0741), "7.41 %"),
        (math.log(0.9995), "99.95 %"),
        (math.log(0.0009), "0.09 %"),
        (math.log(9e-7), "0.00009 %"),
        (math.log(1 - 1e-9), ">99.99 %"),
        (0.0, ">99.99 %"),
        (-500.0, "<0.000000001 %"),
        (-math.inf, "excluded"),
        (math.nan, "unavailable"),
        (None, "not measured"),
    ],
)
def test_a_probability_is_written_so_that_it_is_true(logprob: float | None, text: str) -> None:
    assert percent_text(logprob) == text


def test_only_what_a_filter_left_alone_is_certain() -> None:
    assert percent_text(0.0, may_be_certain=True) == "100 %"
    assert percent_text(math.log(1 - 1e-9), may_be_certain=True) == ">99.99 %"


@pytest.mark.parametrize("exponent", range(-12, 0))
def test_no_possible_token_is_shown_as_zero(exponent: int) -> None:
    text = percent_text(math.log(10.0**exponent))

    assert any(digit in text for digit in "123456789")


def test_what_has_no_number_has_no_share() -> None:
    assert probability_of(None) is None
    assert probability_of(math.nan) is None
    assert probability_of(-math.inf) == 0.0

"""Text can be read on every surface, with or without the heatmap."""

import pytest
from PySide6.QtGui import QColor, QPalette

from app.views.colour import contrast_ratio, relative_luminance
from app.views.heat import HeatScale
from app.views.theme import DARK, LIGHT, Theme, palette_of, theme_of
from engine.contracts import TokenLogprobs

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
SHARES = [step / 200 for step in range(201)]


def test_black_on_white_has_the_highest_contrast_there_is() -> None:
    assert contrast_ratio(QColor("black"), QColor("white")) == pytest.approx(21.0)


@THEMES
def test_text_is_readable_on_every_colour_of_the_heatmap(theme: Theme) -> None:
    scale = HeatScale(theme)

    assert min(contrast_ratio(theme.text, scale.colour(share)) for share in SHARES) >= 4.5


@THEMES
def test_text_is_readable_on_every_surface(theme: Theme) -> None:
    for surface in (theme.page, theme.chrome, theme.raised, theme.hovered, theme.bubble, theme.selection, theme.bar):
        assert contrast_ratio(theme.text, surface) >= 4.5
    for surface in (theme.page, theme.chrome, theme.raised):
        assert contrast_ratio(theme.dimmed, surface) >= 4.5
    assert contrast_ratio(theme.warning_text, theme.warning) >= 4.5
    assert contrast_ratio(theme.accent_text, theme.accent) >= 4.5


@THEMES
def test_the_heatmap_is_ordered_by_lightness_alone(theme: Theme) -> None:
    """So that it needs no colour vision."""
    scale = HeatScale(theme)
    luminances = [relative_luminance(scale.colour(share)) for share in SHARES]

    assert luminances == sorted(luminances, reverse=theme.is_dark)


@THEMES
def test_what_was_not_measured_has_a_pattern_that_no_value_has(theme: Theme) -> None:
    scale = HeatScale(theme)
    values = [scale.brush(TokenLogprobs(logprob=-step / 10)).style() for step in range(100)]

    assert scale.brush(None).style() not in values
    assert scale.brush(TokenLogprobs(logprob=float("nan"))).style() not in values


def test_the_theme_goes_with_the_palette(qapp: object) -> None:
    assert theme_of(palette_of(LIGHT)) is LIGHT
    assert theme_of(palette_of(DARK)) is DARK
    assert theme_of(QPalette(QColor("#202020"))) is DARK

"""The heatmap's colours."""

from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor

from app.views.colour import blend
from app.views.probability_text import probability_of
from app.views.theme import Theme
from engine.contracts import TokenLogprobs

_STEPS: Final = 64


class HeatScale:
    """From the model's own probability of a token to a colour: pale where it was sure, strong where it was not.

    The scale is linear in the probability. What was not measured is hatched, a pattern no value has.
    """

    def __init__(self, theme: Theme) -> None:
        self._theme = theme
        self._brushes: dict[int, QBrush] = {}

    def colour(self, probability: float) -> QColor:
        """The colour of a probability from 0 to 1."""
        return blend(self._theme.heat, 1.0 - probability)

    def brush(self, logprobs: TokenLogprobs | None) -> QBrush:
        """What a token's cell is filled with."""
        probability = probability_of(logprobs.logprob) if logprobs is not None else None
        step = -1 if probability is None else round(probability * _STEPS)
        if step not in self._brushes:
            self._brushes[step] = self._unmeasured() if step < 0 else QBrush(self.colour(step / _STEPS))
        return self._brushes[step]

    def _unmeasured(self) -> QBrush:
        return QBrush(self._theme.hatch, Qt.BrushStyle.BDiagPattern)

"""Disposal and the clock: what every other part of the engine stands on."""

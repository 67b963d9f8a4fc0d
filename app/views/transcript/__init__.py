"""The conversation as the user reads it: laid out block by block, only where it is visible."""

from app.views.transcript.transcript import HoveredToken, Transcript

__all__ = ["HoveredToken", "Transcript"]

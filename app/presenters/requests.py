"""What the engine is asked for, by the user's settings."""

from collections.abc import Iterable

from app.chats.tree import Turn
from app.presenters.history import messages_for
from app.settings.declarations import ALTERNATIVES, MAX_TOKENS, TEMPERATURE, TOP_P
from app.settings.settings import Settings
from engine.contracts import CaptureSettings, GenerationRequest, SamplingSettings


def request_for(model: str, branch: Iterable[Turn], settings: Settings) -> GenerationRequest:
    """An answer of `model` to the last turn of `branch`."""
    return GenerationRequest(
        model=model,
        messages=messages_for(branch),
        sampling=SamplingSettings(temperature=settings[TEMPERATURE], top_p=settings[TOP_P]),
        captures=CaptureSettings(logprob=True, top_k=settings[ALTERNATIVES]),
        max_tokens=settings[MAX_TOKENS],
    )

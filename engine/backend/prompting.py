"""From the messages of a request to a prompt that fits."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from engine.backend.residents import ResidentModel
from engine.contracts import GenerationRequest, Message, PromptFit
from engine.text.context import fit_context
from engine.text.model import EncodedPrompt


class FittedPrompt(NamedTuple):
    """A prompt that leaves room for an answer, with what had to be left out for it."""

    prompt: EncodedPrompt
    fit: PromptFit


async def fit_prompt(resident: ResidentModel, request: GenerationRequest) -> FittedPrompt:
    """Encode the request's messages, leaving out what its overflow policy allows.

    The work runs in a thread, so that a long conversation stops nobody: it is text alone. Raises `ProblemError`: what
    the template says, and `context_full`.
    """
    return await asyncio.to_thread(_fit_prompt, resident, request)


def _fit_prompt(resident: ResidentModel, request: GenerationRequest) -> FittedPrompt:
    encoded: dict[tuple[Message, ...], EncodedPrompt] = {}

    def count_tokens(messages: Sequence[Message]) -> int:
        prompt = encoded[tuple(messages)] = resident.text.encode_chat(
            messages, thinking=request.thinking, continue_last=request.continue_last, raw=request.raw
        )
        return len(prompt.token_ids) + len(request.forced_prefix)

    limit = resident.loaded.context_length
    found = fit_context(request.messages, count_tokens, limit=limit, policy=request.overflow)
    fit = PromptFit(
        prompt_tokens=found.prompt_tokens, full_tokens=found.full_tokens, limit=limit, left_out=found.left_out
    )
    return FittedPrompt(encoded[found.messages], fit)

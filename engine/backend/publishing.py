"""What every method that commits tokens shares: its limits and its words."""

from collections.abc import Sequence
from typing import Final

from engine.contracts import Output, Problem, ProblemError
from engine.text.assembly import AssembledToken

PREFILL: Final = "prefill"
"""The phase of progress while a prompt is read."""


def check_context(tokens: int, context_length: int) -> None:
    """Raise `ProblemError` (`context_full`) when so many tokens are more than the model can attend to."""
    if tokens > context_length:
        raise ProblemError(
            Problem(
                code="context_full",
                sentence=f"The text takes {tokens:,} tokens; this model can read {context_length:,}.",
                remedy="Shorten the text, or choose a model with a longer context.",
            )
        )


async def commit_tokens(output: Output, tokens: Sequence[AssembledToken]) -> None:
    """What becomes final together is one batch; tokens that are still held back commit nothing."""
    if tokens:
        await output.commit(
            [token.id for token in tokens],
            [token.logprobs for token in tokens],
            [token.piece for token in tokens],
        )

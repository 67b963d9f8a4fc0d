"""How a text is scored that no model has to write."""

from engine.backend.row import RowRequest
from engine.contracts import Cancellation, CaptureSettings, SamplingSettings


def scoring_request(
    text: tuple[int, ...], captures: CaptureSettings, cancellation: Cancellation, *, context: tuple[int, ...] = ()
) -> RowRequest:
    """A row that measures every token of `text` after `context`, beside whatever else runs, and draws none.

    Its tokens come back as `SampledToken` in order, measured under the model alone. Without a context the first one has
    no record: nothing predicts it. Logits exist for a few positions at a time, never for the whole text.
    """
    return RowRequest(
        prompt=context,
        forced_prefix=text,
        max_tokens=len(text),
        sampling=SamplingSettings(temperature=0.0, seed=0),
        captures=captures,
        end_ids=frozenset(),
        cancellation=cancellation,
    )

"""Checks a request against the model, before anything is allocated for it."""

from engine.backend.loading import LoadedModel
from engine.backend.problems import context_full, prompt_empty, token_outside_vocabulary
from engine.backend.row import RowRequest
from engine.sampling.validation import check_captures, check_sampling


def check_request(request: RowRequest, loaded: LoadedModel) -> None:
    """Raise `ProblemError` for what the model cannot do: a token id it does not know would crash the process."""
    check_sampling(request.sampling, loaded.vocabulary_size)
    check_captures(request.captures)
    ids = (*request.prompt, *request.forced_prefix)
    if not ids:
        raise prompt_empty()
    for token_id in ids:
        if not 0 <= token_id < loaded.vocabulary_size:
            raise token_outside_vocabulary(token_id, loaded.vocabulary_size)
    if len(request.prompt) >= loaded.context_length or len(ids) > loaded.context_length:
        raise context_full(len(ids), loaded.context_length)

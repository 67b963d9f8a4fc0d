"""The ids that end an answer, from every place where models declare them."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

_TURN_ENDS: Final = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<turn|>",
    "<|end|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|endofturn|>",
    "<|role_end|>",
    "[|endofturn|]",
    "<|endoftext|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
_HARMONY_HEADER: Final = "<|channel|>"


def read_end_ids(
    settings: Iterable[Mapping[str, Any]], end_tokens: Iterable[str], added: Mapping[str, int], template: str
) -> frozenset[int]:
    """All end ids.

    `settings` are `generation_config.json` and `config.json`, where an id, a list of ids or a nested text model may
    stand; `end_tokens` the names that the tokenizer's own files give. Besides, a well-known end of turn that the chat
    template writes ends an answer even where the model's files forgot it.
    """
    declared = {number for values in settings for number in _declared_ids(values)}
    named = {added[name] for name in end_tokens if name in added}
    return frozenset(declared | named | {added[name] for name in _written_ends(template) if name in added})


def _declared_ids(settings: Mapping[str, Any]) -> Iterable[int]:
    value = settings.get("eos_token_id")
    for candidate in value if isinstance(value, list) else [value]:
        if isinstance(candidate, int) and not isinstance(candidate, bool) and candidate >= 0:
            yield candidate
    nested = settings.get("text_config")
    if isinstance(nested, dict):
        yield from _declared_ids(nested)


def _written_ends(template: str) -> Iterable[str]:
    for name in _TURN_ENDS:
        # In harmony an answer has several messages, and `<|end|>` ends only one of them.
        if name in template and not (name == "<|end|>" and _HARMONY_HEADER in template):
            yield name

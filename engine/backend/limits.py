"""How much one group takes on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """Limits of one execution group.

    `max_active` rows decode together. `outbox_tokens` wait for a reader before its row rests. `preparation_tokens`
    is how many prompt tokens may be in preparation when a further row joins in. `store_bytes` of KV are kept for
    prompts that begin like an earlier one.
    """

    max_active: int = 8
    outbox_tokens: int = 64
    preparation_tokens: int = 2048
    store_bytes: int = 1 << 30

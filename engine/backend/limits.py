"""How much one group takes on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """Limits of one execution group.

    `max_active` rows decode together. `outbox_tokens` wait for a reader before its row rests. `store_bytes` of KV are
    kept for prompts that begin like an earlier one. `memory_bytes` is the most the device may hold in all, weights
    included; None leaves it to the device.
    """

    max_active: int = 8
    outbox_tokens: int = 64
    store_bytes: int = 1 << 30
    memory_bytes: int | None = None

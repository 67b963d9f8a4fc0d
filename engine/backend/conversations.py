"""Conversations whose caches outlive the program."""

from collections.abc import Sequence
from pathlib import Path

from engine.backend.group import MlxExecutionGroup
from engine.backend.prefix_file import load_prefix, save_prefix
from engine.backend.prefix_store import PrefixStore


async def save_conversation(group: MlxExecutionGroup, ids: Sequence[int], file: Path) -> int:
    """Save what is stored of the conversation `ids`, between two units; returns how many tokens that is.

    0: nothing is stored, and nothing is written. Raises OSError when the disk refuses.
    """

    def save(store: PrefixStore) -> int:
        caches, length = store.take(ids, len(ids))
        if length:
            save_prefix(file, group.fingerprint, ids[:length], caches)
        return length

    return await group.run_exclusively(save)


async def restore_conversation(group: MlxExecutionGroup, file: Path) -> int:
    """Put a saved conversation into the store, between two units; returns how many tokens that is, 0 for none."""

    def restore(store: PrefixStore) -> int:
        found = load_prefix(file, group.fingerprint)
        if found is None:
            return 0
        ids, caches = found
        store.put(ids, caches)
        return len(ids)

    return await group.run_exclusively(restore)

"""Which stored caches serve which prompt, and which are let go."""

from typing import Any

import mlx.core as mx
import pytest

from engine.backend.prefix_store import PrefixStore
from engine.sampling.mlx_lm_parts import import_part

_mlx_lm = import_part("models.cache")
TOKEN_BYTES = 8


def kv_caches(tokens: int) -> list[Any]:
    """One layer's cache of `tokens` tokens, of 8 bytes each, that says its tokens' places."""
    cache = _mlx_lm.KVCache()
    values = mx.arange(tokens, dtype=mx.float32).reshape(1, 1, tokens, 1)
    cache.keys, cache.values, cache.offset = values, values + 0.5, tokens
    return [cache]


def state_caches() -> list[Any]:
    """A cache that cannot be cut."""
    cache = _mlx_lm.ArraysCache(1)
    cache[0] = mx.zeros((1, 4))
    return [cache]


def test_the_longest_common_prefix_is_found_in_the_middle_of_an_entry() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2, 3, 4, 5, 6], kv_caches(6))
    store.put([1, 2, 9, 9], kv_caches(4))

    caches, length = store.take([1, 2, 3, 4, 8, 8], 5)

    assert length == 4
    assert caches[0].offset == 4
    assert caches[0].keys_and_values()[0].reshape(-1).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_no_more_than_the_limit_is_taken() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2, 3], kv_caches(3))

    assert store.take([1, 2, 3], 2)[1] == 2


def test_nothing_in_common_is_nothing() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2, 3], kv_caches(3))

    assert store.take([4, 2, 3], 3) == ([], 0)


def test_an_entry_is_not_changed_by_whoever_takes_it() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2, 3, 4], kv_caches(4))

    taken, _ = store.take([1, 2, 7], 2)
    taken[0].update_and_fetch(mx.full((1, 1, 1, 1), 99.0), mx.full((1, 1, 1, 1), 99.0))

    again, length = store.take([1, 2, 3, 4, 5], 4)
    assert length == 4
    assert again[0].keys_and_values()[0].reshape(-1).tolist() == [0.0, 1.0, 2.0, 3.0]


def test_the_least_recently_used_entry_goes_first() -> None:
    store = PrefixStore(3 * 4 * TOKEN_BYTES)
    for first in (1, 2, 3):
        store.put([first, 0, 0, 0], kv_caches(4))
    store.take([1, 0, 0, 0], 4)

    store.put([4, 0, 0, 0], kv_caches(4))

    assert [store.take([first, 0, 0, 0], 4)[1] for first in (1, 2, 3, 4)] == [4, 0, 4, 4]


def test_an_entry_larger_than_the_cap_drives_nothing_out() -> None:
    store = PrefixStore(4 * TOKEN_BYTES)
    store.put([1, 2, 3, 4], kv_caches(4))

    store.put([9] * 5, kv_caches(5))

    assert len(store) == 1
    assert store.take([1, 2, 3, 4], 4)[1] == 4


def test_a_longer_entry_replaces_its_own_beginning() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2], kv_caches(2))

    store.put([1, 2, 3], kv_caches(3))

    assert (len(store), store.size) == (1, 3 * TOKEN_BYTES)


def test_a_shorter_entry_adds_nothing_to_a_longer_one() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2, 3], kv_caches(3))

    store.put([1, 2], kv_caches(2))

    assert len(store) == 1


def test_caches_that_cannot_be_cut_serve_only_prompts_that_contain_them_whole() -> None:
    store = PrefixStore(10_000)
    store.put([1, 2], state_caches())
    store.put([1, 2, 3, 4], state_caches())

    assert store.take([1, 2, 3, 9], 3)[1] == 2
    assert store.take([1, 2, 3, 4, 5], 4)[1] == 4
    assert store.take([1, 9], 1)[1] == 0


@pytest.mark.parametrize("limit", [0, 1])
def test_an_entry_that_cannot_be_cut_is_never_taken_beyond_the_limit(limit: int) -> None:
    store = PrefixStore(10_000)
    store.put([1, 2], state_caches())

    assert store.take([1, 2], limit) == ([], 0)

"""Memory is foretold, and what does not fit is refused in numbers."""

import asyncio
from typing import Any

import mlx.core as mx
import pytest

from engine.backend.footprint import Footprint
from engine.backend.group import GroupLimits, MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.contracts import FinishReason, ProblemError
from engine.sampling.mlx_lm_parts import import_part
from tests.engine.backend.driving import StandingClock, greedy_reference, read, request, run_until_idle
from tests.engine.backend.tiny import VOCABULARY, tiny_model


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    return tiny_model()


def held_bytes(loaded: LoadedModel, tokens: int) -> int:
    """What the caches really hold after `tokens` tokens."""
    network: Any = loaded.model
    caches = import_part("models.cache").make_prompt_cache(network)
    network(mx.ones((1, tokens), dtype=mx.uint32), cache=caches)
    return sum(cache.nbytes for cache in caches)


def limited(loaded: LoadedModel, rows_of_512: int) -> MlxExecutionGroup:
    """A group with memory for so many rows of 512 tokens."""
    footprint = Footprint.of(loaded)
    limit = mx.get_active_memory() + footprint.batch_bytes([512] * rows_of_512)
    return MlxExecutionGroup(loaded, StandingClock(), GroupLimits(memory_bytes=limit))


@pytest.mark.parametrize("family", ["llama", "llama3-rope", "qwen3-next", "lfm2", "qwen3-moe"])
@pytest.mark.parametrize("tokens", [1, 40, 300])
def test_the_bytes_of_a_row_are_foretold_from_one_token(family: str, tokens: int) -> None:
    loaded = tiny_model(family)

    assert Footprint.of(loaded).row_bytes(tokens) == held_bytes(loaded, tokens)


@pytest.mark.parametrize("family", ["gemma3", "llama4"])
def test_layers_that_look_back_only_so_far_stop_growing(family: str) -> None:
    footprint = Footprint.of(tiny_model(family))

    # One layer of each of these models sees everything: two heads of 16 floats, keys and values.
    assert footprint.row_bytes(4096) - footprint.row_bytes(256) == (4096 - 256) * 2 * 2 * 16 * 4


def test_a_llamas_bytes_are_exact(loaded: LoadedModel) -> None:
    # Two layers of keys and values, two heads of 16 floats each.
    per_token = 2 * 2 * 2 * 16 * 4

    assert Footprint.of(loaded).row_bytes(257) == 512 * per_token


def test_a_row_that_does_not_fit_is_refused_with_numbers_and_a_length_that_does(loaded: LoadedModel) -> None:
    group = limited(loaded, 1)

    with pytest.raises(ProblemError) as refusal:
        group.submit(request([1] * 600, 10))

    problem = refusal.value.problem
    assert problem.code == "memory_short"
    assert problem.sentence.count("MB") == 3
    assert "512 tokens" in problem.remedy
    assert group.queued == 0


def test_all_rows_count(loaded: LoadedModel) -> None:
    group = limited(loaded, 2)
    group.submit(request([1] * 300, 100))
    group.submit(request([1] * 300, 100))

    with pytest.raises(ProblemError) as refusal:
        group.submit(request([1] * 10, 10))

    assert refusal.value.problem.code == "memory_short"


async def test_a_row_that_grows_beyond_the_memory_ends_as_if_the_context_were_full(loaded: LoadedModel) -> None:
    group = limited(loaded, 1)
    prompt = [index * 7 % VOCABULARY for index in range(250)]
    row = group.submit(request(prompt, 2000))
    reader = asyncio.create_task(read(row))
    await run_until_idle(group)

    answer = await reader
    assert row.finish_reason is FinishReason.CONTEXT_FULL
    assert answer.ids == greedy_reference(loaded, prompt, len(answer.ids))
    assert 512 - 250 - 1 <= len(answer.ids) <= 512 - 250 + 1


def test_unloading_gives_everything_back() -> None:
    mx.clear_cache()
    before = mx.get_active_memory() + mx.get_cache_memory()
    for _ in range(5):
        loaded = tiny_model("qwen3-moe")
        group = MlxExecutionGroup(loaded, StandingClock())
        group.submit(request([1, 2, 3]))
        asyncio.run(run_until_idle(group))

        group.close()
        loaded.unload()
        del group, loaded
        mx.clear_cache()

        assert mx.get_active_memory() + mx.get_cache_memory() == pytest.approx(before, rel=0.05, abs=20_000)

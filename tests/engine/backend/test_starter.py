"""The starter model, in company, gives what plain mlx-lm gives alone."""

import asyncio
from pathlib import Path

import mlx.core as mx
import pytest

from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel, load_model
from engine.catalog.discovery import list_models
from engine.contracts import CaptureSettings, ModelSource, SamplingSettings
from engine.execution.scheduler import drive
from engine.runtime.clock import AsyncioClock
from tests.engine.backend.driving import full_logprobs, greedy_reference, read, request, solo

pytestmark = pytest.mark.starter

GREEDY_PROMPTS = ([504, 6785, 282], [28, 338, 597, 351, 260] * 12)


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    folder = next((Path(model.id) for model in list_models([]) if model.source is ModelSource.STARTER), None)
    if folder is None:
        pytest.skip("the starter model is not here; `make` fetches it")
    loaded = load_model(folder)
    mx.eval(loaded.model.state)
    return loaded


async def test_rows_of_the_starter_model_give_in_company_what_they_give_alone(loaded: LoadedModel) -> None:
    captures = CaptureSettings(top_k=3)
    seeded = request([1, 4093, 198], 10, sampling=SamplingSettings(temperature=0.9, top_p=0.9, seed=5))
    clock = AsyncioClock()
    group = MlxExecutionGroup(loaded, clock)
    driver = asyncio.create_task(drive(group, clock))

    *greedy, drawn = await asyncio.gather(
        *(read(group.submit(request(prompt, 10, captures=captures))) for prompt in GREEDY_PROMPTS),
        read(group.submit(seeded)),
    )
    group.close()
    await driver

    assert drawn.ids == (await solo(loaded, seeded)).ids
    for prompt, answer in zip(GREEDY_PROMPTS, greedy, strict=True):
        assert answer.ids == greedy_reference(loaded, prompt, 10)
        table = full_logprobs(loaded, [*prompt, *answer.ids])
        expected = [table[len(prompt) - 1 + place, token].item() for place, token in enumerate(answer.ids)]
        assert [it.logprob for it in answer.logprobs if it is not None] == pytest.approx(expected, abs=1e-3)

"""Decoding speed of one row through the whole engine, against mlx-lm's own loop on the same model in the same run."""

import asyncio
import statistics
import time
from pathlib import Path
from typing import Any

from mlx_lm.generate import stream_generate
from mlx_lm.utils import load

from engine.assembly import build_engine
from engine.catalog.discovery import list_models
from engine.contracts import (
    CaptureSettings,
    Completed,
    Engine,
    GenerationRequest,
    Message,
    ModelSource,
    Role,
    SamplingSettings,
)
from tests.bench._figure import Figure

PROMPT = "Explain in simple words why the sky is blue."
TOKENS = 64
ROUNDS = 5


def starter_folder() -> Path:
    """Where the starter model is."""
    return next(Path(model.id) for model in list_models([]) if model.source is ModelSource.STARTER)


async def _candor(engine: Engine, folder: Path, captures: CaptureSettings) -> float:
    """Tokens per second after the first token, greedy, as the window gets them."""
    request = GenerationRequest(
        model=str(folder),
        messages=(Message(Role.USER, PROMPT),),
        sampling=SamplingSettings(temperature=0.0),
        captures=captures,
        max_tokens=TOKENS,
    )
    async with engine.generate(request) as session:
        async for _ in session:
            pass
        outcome = await session.outcome()
    assert isinstance(outcome, Completed)
    return (outcome.result.generated_tokens - 1) / outcome.result.decode_seconds


def _reference(model: Any, tokenizer: Any) -> float:
    """The same by `mlx_lm.stream_generate`."""
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": PROMPT}], add_generation_prompt=True)
    arrivals = []
    for _ in stream_generate(model, tokenizer, prompt, max_tokens=TOKENS):
        arrivals.append(time.perf_counter())
    return (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])


async def _measure(folder: Path) -> dict[str, list[float]]:
    model, tokenizer = load(str(folder))
    engine = build_engine()
    speeds: dict[str, list[float]] = {"reference": [], "plain": [], "captured": []}
    for _ in range(ROUNDS + 1):
        speeds["reference"].append(_reference(model, tokenizer))
        speeds["plain"].append(await _candor(engine, folder, CaptureSettings(logprob=False)))
        speeds["captured"].append(await _candor(engine, folder, CaptureSettings(logprob=True, top_k=10)))
    await engine.aclose()
    return {name: values[1:] for name, values in speeds.items()}


def figures() -> list[Figure]:
    """Median speeds, and the medians of the ratios taken round by round."""
    speeds = asyncio.run(_measure(starter_folder()))
    versus = "mlx_lm.stream_generate"
    rows: list[Figure] = [
        {
            "name": "decode.stream_generate",
            "value": statistics.median(speeds["reference"]),
            "unit": "tokens/s",
            "versus": "",
        }
    ]
    for name in ("plain", "captured"):
        ratios = [mine / theirs for mine, theirs in zip(speeds[name], speeds["reference"], strict=True)]
        rows.append(
            {"name": f"decode.{name}", "value": statistics.median(speeds[name]), "unit": "tokens/s", "versus": ""}
        )
        rows.append(
            {"name": f"decode.{name}_ratio", "value": statistics.median(ratios), "unit": "ratio", "versus": versus}
        )
    return rows

"""The engine's log-probabilities against PyTorch and transformers on the same weights."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine.assembly import build_engine
from engine.catalog.starter import starter_installation
from engine.contracts import CaptureSettings, Committed, Completed, Message, Role, ScoreRequest

REFERENCE = Path(__file__).with_name("reference.py")
PYTHON = Path("build/oracle/bin/python")

CONVERSATIONS = {
    "prose": (Message(Role.USER, "The tide was out, and the harbour smelled of salt. " * 12),),
    "code": (Message(Role.USER, "def add(a, b):\n    return a + b\n\nprint(add(2, 40))\n" * 6),),
    "scripts": (Message(Role.USER, "Příliš žluťoučký kůň, 你好世界, مرحبا بالعالم, नमस्ते दुनिया, 👩‍👩‍👧 "),),
    "turns": (
        Message(Role.SYSTEM, "Answer in one word."),
        Message(Role.USER, "What is the capital of France?"),
        Message(Role.ASSISTANT, "Paris"),
        Message(Role.USER, "And of Italy?"),
    ),
}


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_scored_tokens_have_the_logprobs_that_transformers_gives(name: str) -> None:
    folder = starter_installation().folder
    engine = build_engine()
    captures = CaptureSettings(top_k=5)
    session = engine.score(ScoreRequest(model=str(folder), messages=CONVERSATIONS[name], captures=captures))
    events = [event async for event in session if isinstance(event, Committed)]
    outcome = await session.outcome()
    await engine.aclose()

    assert isinstance(outcome, Completed)
    ids = [token for event in events for token in event.token_ids]
    measured = [each for event in events for each in event.logprobs or ()][1:]
    expected = _reference(folder, ids)
    assert len(measured) == len(expected["logprobs"]) > 20
    assert [each.logprob if each else None for each in measured] == pytest.approx(expected["logprobs"], abs=1e-3)
    agreeing = sum(
        {candidate.id for candidate in (each.top or ())} == set(top)
        for each, top in zip((one for one in measured if one), expected["top"], strict=True)
    )
    assert agreeing >= len(measured) - 2  # the fifth and sixth may be a tie


def _reference(folder: Path, token_ids: list[int]) -> dict[str, Any]:
    asked = json.dumps({"folder": str(folder), "token_ids": token_ids})
    ended = subprocess.run([PYTHON, REFERENCE], input=asked, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer

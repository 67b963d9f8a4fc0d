"""A real chat with a real model, from the composer to the device and back."""

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from app.bridge import loop
from tests.end_to_end.candor import answer_of, candor, is_answering, until

pytestmark = pytest.mark.starter

Scenario = Callable[[], Coroutine[Any, Any, None]]


def test_two_tabs_answer_at_once_and_stop_frees_the_row(qapp: QApplication, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with candor(qapp, tmp_path) as program:
            await program.is_ready()
            france = program.send("What is the capital of France?")
            await program.open_tab()
            story = program.send("Tell me a very long story about a fox.")
            await until(lambda: bool(answer_of(story)))

            story.composer.stop.click()
            await until(lambda: not is_answering(story))
            stopped_at = answer_of(story)
            await until(lambda: "Paris" in answer_of(france))
            await until(lambda: not is_answering(france))

            status = await program.engine_status()
            assert status.is_idle
            assert status.open_sessions == 0
            assert answer_of(story) == stopped_at
            assert "topped" in story.status.text()

    loop.run(qapp, scenario())


def test_a_stopped_row_is_gone_from_the_scheduler_while_others_go_on(qapp: QApplication, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with candor(qapp, tmp_path, max_tokens=400) as program:
            await program.is_ready()
            first = program.send("Count from one to a hundred in words.")
            await program.open_tab()
            second = program.send("Write a long poem about the sea.")
            await until(lambda: bool(answer_of(first)) and bool(answer_of(second)))
            assert (await program.engine_status()).active_rows == 2

            second.composer.stop.click()
            await until(lambda: not is_answering(second))

            assert (await program.engine_status()).active_rows == 1
            before = len(answer_of(first))
            await until(lambda: len(answer_of(first)) > before)

    loop.run(qapp, scenario())


def test_every_token_of_the_answer_has_the_models_probability(qapp: QApplication, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with candor(qapp, tmp_path, max_tokens=12) as program:
            await program.is_ready()
            pane = program.send("Name a colour.")
            await until(lambda: bool(answer_of(pane)) and not is_answering(pane))

            message = pane.transcript.page.messages[-1]
            assert len(message.logprobs) == len(message.pieces) > 0
            for piece, measured in zip(message.pieces, message.logprobs, strict=True):
                assert measured is not None
                assert measured.logprob is not None
                assert 0 < math.exp(measured.logprob) <= 1
                assert measured.top is not None
                assert len(measured.top) == 10
                listed = {candidate.id: candidate.logprob for candidate in measured.top}
                assert listed.get(piece.id, measured.logprob) == pytest.approx(measured.logprob, abs=1e-5)

    loop.run(qapp, scenario())


def test_closing_the_window_in_the_middle_of_two_answers_ends_everything_within_three_seconds(
    qapp: QApplication, tmp_path: Path
) -> None:
    started: list[float] = []

    async def scenario() -> None:
        async with candor(qapp, tmp_path, max_tokens=400) as program:
            await program.is_ready()
            first = program.send("Count from one to a hundred in words.")
            await program.open_tab()
            second = program.send("Write a long poem about the sea.")
            await until(lambda: bool(answer_of(first)) and bool(answer_of(second)))
            started.append(time.monotonic())

    loop.run(qapp, scenario())

    assert time.monotonic() - started[0] < 3  # the fixture `leaves_no_process` looks for the engine


def test_the_next_message_reuses_the_work_on_the_last_one(qapp: QApplication, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with candor(qapp, tmp_path, max_tokens=8) as program:
            await program.is_ready()
            pane = program.send("Name a colour.")
            await until(lambda: bool(answer_of(pane)) and not is_answering(pane))
            program.send("Name another one.")
            await until(lambda: len(pane.transcript.page.messages) == 4 and not is_answering(pane))
            await asyncio.sleep(0)

            turns = program.app.services.store.read_chat(program.app.services.store.open_tabs()[0].id).turns
            result = turns[-1].result
            assert result is not None
            assert result.cached_tokens > 20

    loop.run(qapp, scenario())

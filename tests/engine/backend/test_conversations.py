"""Conversations that are continued after the program was closed."""

import asyncio
import stat
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from engine.backend.conversations import restore_conversation, save_conversation
from engine.backend.group import MlxExecutionGroup
from engine.backend.loading import LoadedModel
from engine.backend.prefix_file import load_prefix
from tests.engine.backend.driving import StandingClock, answers, greedy_reference, request
from tests.engine.backend.tiny import VOCABULARY, tiny_model

R = TypeVar("R")
PROMPT = [index * 5 % VOCABULARY for index in range(60)]


@pytest.fixture(params=["llama", "gemma3", "qwen3-next"])
def loaded(request: pytest.FixtureRequest) -> LoadedModel:
    return tiny_model(request.param)


def names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def with_task(group: MlxExecutionGroup, task: Coroutine[Any, Any, R]) -> R:
    running = asyncio.create_task(task)
    while not running.done():
        await asyncio.sleep(0)
        if group.pending_tasks:
            await group.advance_task()
    return await running


async def saved(loaded: LoadedModel, file: Path) -> list[int]:
    """A conversation of one turn in `file`; returns its tokens."""
    group = MlxExecutionGroup(loaded, StandingClock())
    (answer,) = await answers(group, request(PROMPT, 20))
    ids = [*PROMPT, *answer.ids]
    assert await with_task(group, save_conversation(group, ids, file)) == len(ids) - 1
    return ids


async def test_a_conversation_goes_on_after_a_restart_without_being_read_again(
    loaded: LoadedModel, tmp_path: Path
) -> None:
    file = tmp_path / "chat.safetensors"
    ids = await saved(loaded, file)
    group = MlxExecutionGroup(loaded, StandingClock())

    restored = await with_task(group, restore_conversation(group, file))

    assert restored == len(ids) - 1
    prompt = [*ids, 3, 1, 4]
    (answer,) = await answers(group, request(prompt, 25))
    assert answer.progress[-1].cached == len(ids) - 1
    assert answer.ids == greedy_reference(loaded, prompt, 25)


async def test_only_the_owner_may_read_the_file_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "chat.safetensors"
    await saved(tiny_model(), file)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert names_in(tmp_path) == [file.name]


def flip(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]


@pytest.mark.parametrize("damage", [flip, lambda content: content[:-9], lambda _: b"", lambda _: b"not a cache file"])
async def test_a_damaged_file_is_ignored_with_a_line_in_the_log(
    tmp_path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    loaded = tiny_model()
    file = tmp_path / "chat.safetensors"
    await saved(loaded, file)
    file.write_bytes(damage(file.read_bytes()))
    group = MlxExecutionGroup(loaded, StandingClock())

    assert await with_task(group, restore_conversation(group, file)) == 0

    assert "chat.safetensors" in caplog.text
    caplog.clear()
    (answer,) = await answers(group, request(PROMPT, 5))
    assert answer.ids == greedy_reference(loaded, PROMPT, 5)


async def test_the_caches_of_another_model_are_ignored(tmp_path: Path) -> None:
    file = tmp_path / "chat.safetensors"
    await saved(tiny_model(), file)

    assert load_prefix(file, "another fingerprint") is None
    assert load_prefix(tmp_path / "none.safetensors", "") is None


async def test_a_conversation_nobody_stored_writes_nothing(tmp_path: Path) -> None:
    group = MlxExecutionGroup(tiny_model(), StandingClock())

    assert await with_task(group, save_conversation(group, PROMPT, tmp_path / "chat.safetensors")) == 0

    assert names_in(tmp_path) == []


async def test_a_folder_that_is_not_there_is_the_callers_error_and_nobody_elses(tmp_path: Path) -> None:
    loaded = tiny_model()
    group = MlxExecutionGroup(loaded, StandingClock())
    (answer,) = await answers(group, request(PROMPT, 5))

    with pytest.raises(OSError, match="none"):
        await with_task(group, save_conversation(group, PROMPT, tmp_path / "none" / "chat.safetensors"))

    assert (await answers(group, request(PROMPT, 5)))[0].ids == answer.ids

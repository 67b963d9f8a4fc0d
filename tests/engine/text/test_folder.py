"""The files of a model folder: where each thing may stand, and how damage is told."""

import json
import os
from pathlib import Path

import pytest

from engine.contracts import Message, ProblemError, Role
from engine.text.model import TextModel
from tests.engine.text.small_tokenizers import byte_level, load, write_folder

USER = Message(Role.USER, "Hi")


def spelled(model: TextModel, token_ids: tuple[int, ...]) -> str:
    return b"".join(map(model.token_bytes, token_ids)).decode()


def problem_code(folder: Path) -> str:
    with pytest.raises(ProblemError) as caught:
        TextModel.load(folder)
    return caught.value.problem.code


def test_a_folder_without_tokenizer_is_told_apart_from_a_damaged_one(model_folder: Path) -> None:
    model_folder.mkdir()

    assert problem_code(model_folder) == "tokenizer_missing"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 65536,
        b'{"model"',
        b"[]",
        b"{}",
        b'{"model": {}}',
        b'{"model": {"type": "BPE", "vocab": null, "merges": []}}',
        b'{"added_tokens": [{"id": -1, "content": "x"}], "model": {"vocab": {}}}',
        b'{"added_tokens": [7], "model": {"type": "BPE", "vocab": {}, "merges": []}}',
        b'{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}}',
        b"[" * 100_000,
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n",
        "{}".encode("utf-16"),
    ],
    ids=range(13),
)
def test_a_damaged_tokenizer_is_a_problem_that_names_the_file(model_folder: Path, content: bytes) -> None:
    model_folder.mkdir()
    (model_folder / "tokenizer.json").write_bytes(content)

    assert problem_code(model_folder) == "tokenizer_damaged"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": "\\ud800', "[" * 100_000], ids=range(5))
def test_damaged_recommendations_are_no_recommendations(model_folder: Path, content: str) -> None:
    write_folder(model_folder, byte_level())
    whole = TextModel.load(model_folder)
    (model_folder / "generation_config.json").write_text(content)

    assert TextModel.load(model_folder).end_ids == whole.end_ids


@pytest.mark.parametrize("name", ["tokenizer_config.json", "config.json"])
@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": "\\ud800'], ids=range(4))
def test_damaged_settings_are_a_problem_that_names_the_file(model_folder: Path, name: str, content: str) -> None:
    write_folder(model_folder, byte_level())
    (model_folder / name).write_text(content)

    with pytest.raises(ProblemError, match=name):
        TextModel.load(model_folder)


def test_a_tokenizer_in_an_older_form_only_is_named(model_folder: Path) -> None:
    model_folder.mkdir()
    (model_folder / "tokenizer.model").touch()

    with pytest.raises(ProblemError, match=r"only as tokenizer\.model"):
        TextModel.load(model_folder)


def test_a_template_that_is_not_text_is_a_problem(model_folder: Path) -> None:
    write_folder(model_folder, byte_level())
    (model_folder / "chat_template.jinja").write_bytes(b"\xff\xfe")

    with pytest.raises(ProblemError, match=r"chat_template\.jinja of this model is not UTF-8"):
        TextModel.load(model_folder)


def test_a_folder_in_place_of_a_file_is_a_problem(model_folder: Path) -> None:
    (model_folder / "tokenizer.json").mkdir(parents=True)

    with pytest.raises(ProblemError, match="cannot be read"):
        TextModel.load(model_folder)


def test_a_file_without_end_is_not_read_to_its_end(model_folder: Path) -> None:
    write_folder(model_folder, byte_level())
    with (model_folder / "chat_template.jinja").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)

    with pytest.raises(ProblemError, match="larger than 1 MiB"):
        TextModel.load(model_folder)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"chat_template": "one"}, "one"),
        ({"chat_template": [{"name": "tool_use", "template": "two"}, {"name": "default", "template": "one"}]}, "one"),
        ({"chat_template": [{"name": "rag", "template": "one"}]}, "one"),
    ],
)
def test_a_template_may_stand_in_the_settings(model_folder: Path, config: dict[str, object], expected: str) -> None:
    model = load(model_folder, byte_level(), config=config)

    assert spelled(model, model.encode_chat([USER]).token_ids) == expected


def test_a_template_file_counts_more_than_the_settings(model_folder: Path) -> None:
    model = load(model_folder, byte_level(), template="file", config={"chat_template": "settings"})

    assert spelled(model, model.encode_chat([USER]).token_ids) == "file"


def test_a_template_file_of_a_processor_counts_least(model_folder: Path) -> None:
    write_folder(model_folder, byte_level())
    (model_folder / "chat_template.json").write_text(json.dumps({"chat_template": "processor"}))
    model = TextModel.load(model_folder)

    assert model.has_template
    assert spelled(model, model.encode_chat([USER]).token_ids) == "processor"


def test_a_mark_of_byte_order_is_not_part_of_a_file(model_folder: Path) -> None:
    write_folder(model_folder, byte_level())
    (model_folder / "chat_template.jinja").write_text("x", encoding="utf-8-sig")
    (model_folder / "config.json").write_text("{}", encoding="utf-8-sig")
    model = TextModel.load(model_folder)

    assert spelled(model, model.encode_chat([USER]).token_ids) == "x"


def test_a_truncation_that_the_tokenizer_declares_does_not_cut_prompts(model_folder: Path) -> None:
    write_folder(model_folder, byte_level())
    path = model_folder / "tokenizer.json"
    description = json.loads(path.read_text())
    description["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    path.write_text(json.dumps(description))

    assert len(TextModel.load(model_folder).encode_chat([Message(Role.USER, "x " * 50)]).token_ids) > 4

"""A template that opens thinking with one family's tag, on a tokenizer that owns another family's."""

import json
from pathlib import Path

from tokenizers import Tokenizer

from engine.contracts import Message, Part, Role
from engine.text.assembly import MessageAssembler
from tests.engine.text.assembling import by_part
from tests.engine.text.small_tokenizers import byte_level, load

OWNED = {"[THINK]", "[/THINK]", "<|im_start|>", "<|im_end|>"}
TEMPLATE = "<|im_start|>user\n{{ messages[0].content }}<|im_end|>\n<|im_start|>assistant\n"


def split(folder: Path, opening: str, answer: str) -> dict[Part, str]:
    description = json.loads(byte_level().to_str())
    description["added_tokens"] = [each for each in description["added_tokens"] if each["content"] in OWNED]
    tokenizer = Tokenizer.from_str(json.dumps(description))
    model = load(folder, tokenizer, template=TEMPLATE + opening)
    prompt = model.encode_chat([Message(Role.USER, "hi")])
    assembler = MessageAssembler(
        model, opens_thinking=prompt.opens_thinking, closes_by_spelling=prompt.closes_by_spelling
    )
    tokens = [token for id_ in tokenizer.encode(answer).ids for token in assembler.push(id_)]
    return by_part([*tokens, *assembler.finish()])


def test_thinking_opened_with_a_spelled_tag_is_closed_with_its_spelled_end(tmp_path: Path) -> None:
    parts = split(tmp_path, "<think>\n", "reason\n</think>\n\nThe answer is 4.")

    assert parts[Part.THINKING].strip() == "reason"
    assert parts[Part.ANSWER].strip() == "The answer is 4."


def test_thinking_opened_with_a_spelled_tag_with_a_label_is_closed_with_its_spelled_end(tmp_path: Path) -> None:
    parts = split(tmp_path, "<|channel>thought\n", "reason<channel|>The answer is 4.")

    assert parts == {Part.THINKING: "reason", Part.ANSWER: "The answer is 4."}


def test_thinking_opened_with_a_token_is_still_closed_by_its_token_alone(tmp_path: Path) -> None:
    parts = split(tmp_path, "[THINK]", "a </think> b[/THINK]c")

    assert parts[Part.THINKING] == "a </think> b"
    assert parts[Part.ANSWER] == "c"

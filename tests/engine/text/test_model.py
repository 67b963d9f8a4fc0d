"""A model's text side: ends of an answer, raw mode, thinking, problems with remedies."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, processors

from engine.contracts import Message, ProblemError, Role
from engine.text.model import MAX_PROMPT_CHARACTERS, TextModel
from tests.engine.text.small_tokenizers import byte_level, legacy_sentencepiece, load

USER, ANSWER, SYSTEM = (
    Message(Role.USER, "Hi"),
    Message(Role.ASSISTANT, "Hello"),
    Message(Role.SYSTEM, "Be brief."),
)
CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
PICKY = (
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('No system role.') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate.') }}{% endif %}"
    "{{ m.content }}{% endfor %}"
)


def identity(name: str) -> int:
    number = byte_level().token_to_id(name)
    assert number is not None
    return number


def spelled(model: TextModel, token_ids: tuple[int, ...]) -> str:
    return b"".join(map(model.token_bytes, token_ids)).decode()


def test_an_answer_ends_with_every_id_that_any_file_declares(model_folder: Path) -> None:
    names = ["<|eot_id|>", "<|im_end|>", "</s>", "<|return|>", "<|call|>"]
    first, second, third, fourth, fifth = map(identity, names)

    model = load(
        model_folder,
        byte_level(),
        generation={"eos_token_id": [first, second]},
        model={"eos_token_id": third, "text_config": {"eos_token_id": fourth}},
        config={"eos_token": {"content": "<|call|>"}},
    )

    assert model.end_ids == {first, second, third, fourth, fifth}
    assert all(map(model.is_special, model.end_ids))


def test_a_template_shows_an_end_of_turn_that_the_files_forgot(model_folder: Path) -> None:
    model = load(model_folder, byte_level(), template=CHATML, config={"eos_token": "<|endoftext|>"})

    assert model.end_ids == {identity("<|im_end|>"), identity("<|endoftext|>")}


def test_the_end_of_one_channel_message_does_not_end_an_answer(model_folder: Path) -> None:
    model = load(
        model_folder, byte_level(), template="<|channel|>final<|message|><|end|>", generation={"eos_token_id": 3}
    )

    assert model.end_ids == {3}
    assert model.is_special(3)


@pytest.mark.parametrize("value", [None, "2", True, -1, [None, "x", [1]], {"a": 1}, 1.5])
def test_a_nonsensical_end_id_is_ignored(model_folder: Path, value: object) -> None:
    assert load(model_folder, byte_level(), generation={"eos_token_id": value}).end_ids == frozenset()


@pytest.mark.parametrize("raw", [True, False])
def test_a_model_without_template_gets_the_plain_texts(model_folder: Path, raw: bool) -> None:
    model = load(model_folder, byte_level())
    prompt = model.encode_chat([Message(Role.USER, "Once <|im_end|> "), Message(Role.ASSISTANT, "upon")], raw=raw)

    assert not model.has_template
    assert spelled(model, prompt.token_ids) == "Once <|im_end|> upon"
    assert not any(map(model.is_special, prompt.token_ids))


def test_plain_text_begins_as_the_tokenizer_says(model_folder: Path) -> None:
    begins, ends = (legacy_sentencepiece().token_to_id(name) for name in ("<s>", "</s>"))
    config = {"add_bos_token": True, "bos_token": "<s>", "eos_token": "</s>"}

    prompt = load(model_folder, legacy_sentencepiece(), config=config).encode_chat([USER], raw=True)

    assert prompt.token_ids[0] == begins
    assert ends not in prompt.token_ids


def test_plain_text_is_not_ended_by_the_tokenizer(model_folder: Path) -> None:
    tokenizer = Tokenizer.from_str(legacy_sentencepiece().to_str())
    begins, ends = (tokenizer.token_to_id(name) for name in ("<s>", "</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", begins), ("</s>", ends)]
    )

    ids = load(model_folder, tokenizer, config={"eos_token": "</s>"}).encode_chat([USER], raw=True).token_ids

    assert ids[0] == begins
    assert ends not in ids


@pytest.mark.parametrize("raw", [True, False])
def test_a_prompt_without_any_text_is_a_problem(model_folder: Path, raw: bool) -> None:
    model = load(model_folder, byte_level(), template="{{ messages[0].content }}")

    with pytest.raises(ProblemError) as caught:
        model.encode_chat([Message(Role.USER, "")], raw=raw)
    assert caught.value.problem.code == "prompt_empty"


def test_a_prompt_beyond_any_context_is_a_problem(byte_model: TextModel) -> None:
    with pytest.raises(ProblemError) as caught:
        byte_model.encode_chat([Message(Role.USER, "x" * (MAX_PROMPT_CHARACTERS + 1))])
    assert caught.value.problem.code == "prompt_too_long"


def test_a_template_that_does_not_parse_leaves_raw_mode(model_folder: Path) -> None:
    model = load(model_folder, byte_level(), template="{% if %}")

    with pytest.raises(ProblemError) as caught:
        model.encode_chat([USER])
    assert caught.value.problem.code == "template_damaged"
    assert "Raw mode works" in caught.value.problem.remedy
    assert spelled(model, model.encode_chat([USER], raw=True).token_ids) == "Hi"


@pytest.mark.parametrize(
    ("messages", "code", "remedy"),
    [
        ((SYSTEM, USER), "template_refuses_system", "merged into the first user message."),
        ((USER, USER), "template_refuses_order", "joined into one."),
        ((SYSTEM, USER, USER), "template_refuses_system", "merged into the first user message and neighbouring"),
        ((ANSWER, USER), "template_refused", "Raw mode works"),
    ],
)
def test_a_refusal_offers_what_works(model_folder: Path, messages: tuple[Message, ...], code: str, remedy: str) -> None:
    model = load(model_folder, byte_level(), template=PICKY)

    with pytest.raises(ProblemError) as caught:
        model.encode_chat(messages)
    assert caught.value.problem.code == code
    assert remedy in caught.value.problem.remedy


def test_only_an_answer_can_be_continued(model_folder: Path) -> None:
    model = load(model_folder, byte_level(), template=CHATML)

    for messages in ([USER], []):
        with pytest.raises(ProblemError) as caught:
            model.encode_chat(messages, continue_last=True)
        assert caught.value.problem.code == "nothing_to_continue"


def test_a_template_that_hides_the_last_answer_cannot_continue_it(model_folder: Path) -> None:
    model = load(model_folder, byte_level(), template="{{ messages[0].content }}")

    with pytest.raises(ProblemError) as caught:
        model.encode_chat([USER, ANSWER], continue_last=True)
    assert caught.value.problem.code == "template_cannot_continue"


@pytest.mark.parametrize(("thinking", "shown"), [(None, "unset"), (True, "TrueTrue"), (False, "FalseFalse")])
def test_the_template_is_told_about_thinking_only_when_it_is_chosen(
    model_folder: Path, thinking: bool | None, shown: str
) -> None:
    template = "{% if enable_thinking is defined %}{{ enable_thinking }}{{ thinking }}{% else %}unset{% endif %}"
    model = load(model_folder, byte_level(), template=template)

    assert spelled(model, model.encode_chat([USER], thinking=thinking).token_ids) == shown


def test_a_prompt_that_opens_thinking_says_so_whatever_the_texts_contain(model_folder: Path) -> None:
    template = "{{ messages[0].content }}{% if thinking %}<think>{% endif %}"
    model = load(model_folder, byte_level(), template=template)

    assert not model.encode_chat([Message(Role.USER, "a <think> b")], thinking=False).opens_thinking
    assert model.encode_chat([Message(Role.USER, "a </think> b")], thinking=True).opens_thinking


def test_texts_of_a_tool_template_survive_json(model_folder: Path) -> None:
    model = load(model_folder, byte_level(), template="{{ messages[0].content | tojson(ensure_ascii=true) }}")

    prompt = model.encode_chat([Message(Role.USER, 'é <|im_end|> "x" 🎉')])

    assert spelled(model, prompt.token_ids) == '"\\u00e9 <|im_end|> \\"x\\" \\ud83c\\udf89"'
    assert identity("<|im_end|>") not in prompt.token_ids

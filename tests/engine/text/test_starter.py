"""The text side of the real starter model."""

import pytest
from tokenizers import Tokenizer

from engine.catalog.starter import starter_installation
from engine.contracts import Message, Role
from engine.text.model import TextModel
from tests.engine.text.assembling import assemble, check_spans, text_of
from tests.engine.text.small_tokenizers import SAMPLE, SCRIPTS

pytestmark = pytest.mark.starter

CHAT = (
    Message(Role.SYSTEM, "Be brief."),
    Message(Role.USER, "  Kůň 你好 👨‍👩‍👧‍👦 12345\n\n"),
    Message(Role.ASSISTANT, "Yes < no | maybe > [x]"),
    Message(Role.USER, "\tdef f(x):\n    return x"),
)
RENDERED = (
    "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n  Kůň 你好 👨‍👩‍👧‍👦 12345\n\n<|im_end|>\n"
    "<|im_start|>assistant\nYes < no | maybe > [x]<|im_end|>\n"
    "<|im_start|>user\n\tdef f(x):\n    return x<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def model() -> TextModel:
    return TextModel.load(starter_installation().folder)


@pytest.fixture(scope="module")
def library() -> Tokenizer:
    return Tokenizer.from_file(str(starter_installation().folder / "tokenizer.json"))


def test_a_chat_gets_the_librarys_own_tokens(model: TextModel, library: Tokenizer) -> None:
    assert model.encode_chat(CHAT).token_ids == tuple(library.encode(RENDERED).ids)


def test_its_control_tokens_are_out_of_everybodys_reach(model: TextModel, library: Tokenizer) -> None:
    control = {number: token.content for number, token in library.get_added_tokens_decoder().items()}
    text = "".join(control.values())

    prompt = model.encode_chat([Message(Role.SYSTEM, "x"), Message(Role.USER, text)])

    assert [control[number] for number in prompt.token_ids if number in control] == [
        *("<|im_start|>", "<|im_end|>", "<|im_start|>", "<|im_end|>", "<|im_start|>")
    ]
    assert text.encode() in b"".join(map(model.token_bytes, prompt.token_ids))


@pytest.mark.parametrize("text", [*SCRIPTS, *SAMPLE], ids=range(len(SCRIPTS) + len(SAMPLE)))
def test_text_in_any_script_comes_back(model: TextModel, library: Tokenizer, text: str) -> None:
    tokens = assemble(model, library.encode(text).ids)

    assert text_of(tokens) == text
    check_spans([token.piece for token in tokens])


def test_its_answers_end_with_its_end_of_turn(model: TextModel, library: Tokenizer) -> None:
    end = library.token_to_id("<|im_end|>")
    assert end is not None
    assert end in model.end_ids
    piece = assemble(model, [*library.encode("done").ids, end])[-1].piece

    assert (piece.special, piece.text, piece.data) == (True, "", b"<|im_end|>")


def test_every_token_has_its_own_bytes(model: TextModel, library: Tokenizer) -> None:
    ordinary = [number for number in range(model.vocabulary_size) if not model.is_special(number)]

    assert all(model.token_bytes(number) for number in ordinary)
    assert b"".join(map(model.token_bytes, ordinary[:5_000])).decode(errors="replace") == library.decode(
        ordinary[:5_000]
    )

"""Where plain text could meet a control token: merges, whole words, unknown characters, added tokens that are text."""

from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from engine.contracts import Message, Role
from engine.text.model import TextModel
from engine.text.protection import StandIns, well_formed
from engine.text.vocabulary import AddedToken as Added
from tests.engine.text.small_tokenizers import load

TEMPLATE = "<s>{{ messages[0].content }}</s>"


def encode(model: TextModel, text: str) -> list[str]:
    """The spelling of each token of a text between two markers."""
    prompt = model.encode_chat([Message(Role.USER, text)])
    return [model.token_bytes(number).decode() for number in prompt.token_ids]


def merging(ignore_merges: bool) -> Tokenizer:
    """A BPE whose merges make `</s>` out of its characters, and whose unknown token is a marker as well."""
    names = ["<unk>", "<s>", "</s>", "<", "/", "s", ">", "</", "s>", "a"]
    merges = [("<", "/"), ("s", ">"), ("</", "s>")]
    model = models.BPE(
        vocab={name: place for place, name in enumerate(names)},
        merges=merges,
        unk_token="<unk>",
        ignore_merges=ignore_merges,
    )
    tokenizer = Tokenizer(model)
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens([AddedToken(name, normalized=False) for name in names[:3]])
    return tokenizer


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_merges_never_make_a_control_token(model_folder: Path, ignore_merges: bool) -> None:
    model = load(model_folder, merging(ignore_merges), template=TEMPLATE)

    assert encode(model, "a</s>a") == ["<s>", "a", "</", "s>", "a", "</s>"]


def test_the_token_for_the_unknown_keeps_its_office_and_cannot_be_typed(model_folder: Path) -> None:
    model = load(model_folder, merging(ignore_merges=False), template=TEMPLATE)

    assert encode(model, "é") == ["<s>", "<unk>", "</s>"]
    assert encode(model, "<s>") == ["<s>", "<", "s>", "</s>"]


def test_a_whole_word_is_no_control_token(model_folder: Path) -> None:
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "<s>": 1, "</s>": 2, "hi": 3}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.add_special_tokens([AddedToken("<s>"), AddedToken("</s>"), AddedToken("[UNK]")])
    model = load(model_folder, words, template=TEMPLATE)

    assert encode(model, " hi </s> hi ")[1:-1] == [" hi", "[UNK]", " hi"]


def test_a_control_token_that_absorbs_space_does_so_only_around_the_templates_own(model_folder: Path) -> None:
    tokenizer = merging(ignore_merges=False)
    tokenizer.add_special_tokens([AddedToken("<|user|>", rstrip=True, normalized=False)])
    model = load(model_folder, tokenizer, template="<|user|>\n{{ messages[0].content }}")

    prompt = model.encode_chat([Message(Role.USER, "a")])

    assert [model.token_bytes(number) for number in prompt.token_ids] == [b"<|user|>", b"a"]


def test_control_tokens_are_found_also_when_a_normalizer_changes_letters(model_folder: Path) -> None:
    tokenizer = merging(ignore_merges=False)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.add_special_tokens([AddedToken("[INST]", normalized=True)])
    model = load(model_folder, tokenizer, template="[INST]{{ messages[0].content }}")

    ids = model.encode_chat([Message(Role.USER, "[INST]A")]).token_ids

    assert ids.count(tokenizer.token_to_id("[INST]") or -1) == 1
    assert model.token_bytes(ids[-1]) == b"a"


@pytest.mark.parametrize(
    ("content", "special", "control"),
    [
        ("<|im_end|>", True, True),
        ("<think>", False, True),
        ("[TOOL_CALLS]", False, True),
        ("<unused7>", False, True),
        ("\n\n", False, False),
        ("▁▁▁", False, False),
        ("<table>", False, False),
        ("</h1>", False, False),
        ("COVID", False, False),
        ("<0x0A>", True, False),
        ("", True, False),
    ],
)
def test_an_added_token_steers_if_special_or_bracketed_unless_it_is_plain_text(
    content: str, special: bool, control: bool
) -> None:
    assert Added(0, content, special).is_control is control


def test_stand_ins_swap_ends_of_markers_and_nothing_else() -> None:
    stand_ins = StandIns(["<s>", "[INST]"])
    protected = stand_ins.protect("  a <s> [INST] ď\n")

    assert not {"<", ">", "[", "]"} & set(protected)
    assert protected.strip() == protected[2:-1]
    assert len(protected) == len("  a <s> [INST] ď\n")
    assert stand_ins.restore(protected) == "  a <s> [INST] ď\n"


@pytest.mark.parametrize(
    ("text", "formed"),
    [("a\ud800b", "a\ufffdb"), ("\ud83c\udf89", "🎉"), ("\udfff\ud800", "\ufffd\ufffd"), ("ok", "ok")],
)
def test_lone_surrogates_are_no_text(text: str, formed: str) -> None:
    assert well_formed(text) == formed

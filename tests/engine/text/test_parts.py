"""Thinking, answer and tool calls, told apart while the output arrives."""

from collections.abc import Sequence

import pytest

from engine.contracts import Part, Removal
from engine.text.assembly import AssembledToken, MessageAssembler
from tests.engine.text.assembling import assemble, by_part, check_spans, text_of
from tests.engine.text.scripted import ScriptedTokens

THINKING, ANSWER, TOOL_CALL = Part.THINKING, Part.ANSWER, Part.TOOL_CALL
QWEN = ("<think>", "</think>", "<tool_call>", "</tool_call>")
HARMONY = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>", "<|constrain|>")


def split(texts: Sequence[str], *, opens_thinking: bool = False, **kinds: Sequence[str]) -> dict[Part, str]:
    tokens = ScriptedTokens.of_texts(*texts, **kinds)
    out = assemble(tokens, tokens.ids, opens_thinking=opens_thinking)
    check_spans([token.piece for token in out])
    return by_part(out)


def spelled(text: str, *, opens_thinking: bool = False) -> dict[Part, str]:
    """The output one character for each token; no tag is a token of its own."""
    return split(list(text), opens_thinking=opens_thinking)


SPELLED = {
    "<think>a</think>b": {THINKING: "a", ANSWER: "b"},
    "<think>a": {THINKING: "a"},
    "<think></think>b": {ANSWER: "b"},
    "<think>\n\n</think>\n\nb": {THINKING: "\n\n", ANSWER: "\n\nb"},
    "[THINK]a[/THINK]b": {THINKING: "a", ANSWER: "b"},
    "<thinking>a</thinking>b": {THINKING: "a", ANSWER: "b"},
    "<seed:think>a</seed:think>b": {THINKING: "a", ANSWER: "b"},
    "◁think▷a◁/think▷b": {THINKING: "a", ANSWER: "b"},
    "<|START_THINKING|>a<|END_THINKING|>b": {THINKING: "a", ANSWER: "b"},
    "<think>a<think>b</think>c</think>d": {THINKING: "a<think>b</think>c", ANSWER: "d"},
    "<think>it ends with `</think>` I know</think>b": {THINKING: "it ends with `</think>` I know", ANSWER: "b"},
    "<think>write `a </think> tag` here</think>b": {THINKING: "write `a </think> tag` here", ANSWER: "b"},
    "<think>a stray ` here</think>b": {THINKING: "a stray ` here", ANSWER: "b"},
    "<think>a stray ` here</think>\n`b`": {THINKING: "a stray ` here", ANSWER: "\n`b`"},
    "<think>x [/THINK] y</think>b": {THINKING: "x [/THINK] y", ANSWER: "b"},
    "The tag `<think>` opens, </think> closes.": {ANSWER: "The tag `<think>` opens, </think> closes."},
    "XML has <think>a</think> too": {ANSWER: "XML has <think>a</think> too"},
    "<thi": {ANSWER: "<thi"},
    "<thin ice": {ANSWER: "<thin ice"},
    "a < b and <b": {ANSWER: "a < b and <b"},
    "\n<think>\na\n</think>\n\nb": {THINKING: "\n\na\n", ANSWER: "\n\nb"},
    "<think>a</think>\n<think>b</think>c": {THINKING: "a\nb", ANSWER: "c"},
    "<tool_call>{}</tool_call>": {TOOL_CALL: "{}"},
    "Let me see.\n<tool_call>{}</tool_call>\nDone": {ANSWER: "Let me see.\n\nDone", TOOL_CALL: "{}"},
    "Use <tool_call> for calls": {ANSWER: "Use <tool_call> for calls"},
    "```\n<tool_call>{}</tool_call>\n```": {ANSWER: "```\n<tool_call>{}</tool_call>\n```"},
    "`<tool_call>`": {ANSWER: "`<tool_call>`"},
    "<think>maybe\n<tool_call>no</tool_call>\n</think>b": {
        THINKING: "maybe\n<tool_call>no</tool_call>\n",
        ANSWER: "b",
    },
    "<think>a</think><tool_call>{}</tool_call>": {THINKING: "a", TOOL_CALL: "{}"},
    "[TOOL_CALLS][{}]": {TOOL_CALL: "[{}]"},
}


@pytest.mark.parametrize(("text", "parts"), SPELLED.items(), ids=SPELLED)
def test_spelled_tags_split_the_message_also_when_cut_into_characters(text: str, parts: dict[Part, str]) -> None:
    assert spelled(text) == parts


@pytest.mark.parametrize(("text", "parts"), SPELLED.items(), ids=SPELLED)
def test_nothing_shown_is_ever_taken_back(text: str, parts: dict[Part, str]) -> None:
    tokens = ScriptedTokens.of_texts(*text)
    assembler = MessageAssembler(tokens)
    out: list[AssembledToken] = []
    for token_id in tokens.ids:
        out.extend(assembler.push(token_id))
        for part, shown in by_part(out).items():
            assert parts.get(part, "").startswith(shown)


def test_no_beginning_of_a_tag_is_ever_shown() -> None:
    tokens = ScriptedTokens.of_texts("<thi", "nk>", "a</", "think>b")
    assembler = MessageAssembler(tokens)

    assert [text_of(assembler.push(token_id)) for token_id in tokens.ids] == ["", "", "", "ab"]


def test_a_token_that_ends_a_tag_and_goes_on_keeps_the_rest() -> None:
    assert split(["<thi", "nk>a", "</think", ">b"]) == {THINKING: "a", ANSWER: "b"}


@pytest.mark.parametrize(
    ("text", "parts"),
    {
        "a</think>b": {THINKING: "a", ANSWER: "b"},
        "a[/THINK]b": {THINKING: "a", ANSWER: "b"},
        "a": {THINKING: "a"},
        "<think>a</think>b": {THINKING: "a", ANSWER: "b"},
        "\n<think>a</think>b": {THINKING: "\na", ANSWER: "b"},
        "a<think>b</think>c</think>d": {THINKING: "a<think>b</think>c", ANSWER: "d"},
        "": {},
    }.items(),
)
def test_thinking_that_the_prompt_opened_is_closed_by_the_model(text: str, parts: dict[Part, str]) -> None:
    assert spelled(text, opens_thinking=True) == parts


def test_thinking_that_is_cut_can_be_told() -> None:
    tokens = ScriptedTokens.of_texts("<think>", "a")
    assembler = MessageAssembler(tokens)
    for token_id in tokens.ids:
        assembler.push(token_id)
    assembler.finish()

    assert assembler.part is THINKING


def test_when_the_end_is_a_token_a_spelled_one_is_a_quote() -> None:
    texts = ["<think>", "say ", "`", "</", "think>", "`", " and </", "think", "> so", "</think>", "b"]

    assert split(texts, added=("<think>", "</think>")) == {THINKING: "say `</think>` and </think> so", ANSWER: "b"}


def test_when_thinking_was_opened_by_the_prompt_a_spelled_end_does_not_beat_the_token() -> None:
    texts = ["a </", "think>", " b [/", "THINK]", "</think>", "c"]

    parts = split(texts, opens_thinking=True, added=("<think>", "</think>"))

    assert parts == {THINKING: "a </think> b [/THINK]", ANSWER: "c"}


def test_a_tag_token_counts_also_in_the_middle_of_an_answer() -> None:
    assert split(["a", "<think>", "b", "</think>", "c"], added=QWEN) == {ANSWER: "ac", THINKING: "b"}


def test_nested_tag_tokens_keep_the_outer_pair() -> None:
    texts = ["<think>", "a", "<think>", "b", "</think>", "c", "</think>", "d"]

    assert split(texts, added=QWEN) == {THINKING: "a<think>b</think>c", ANSWER: "d"}


def test_an_opening_token_mentioned_in_backticks_needs_no_closing() -> None:
    texts = ["<think>", "what is `", "<think>", "` for", "</think>", "b"]

    assert split(texts, added=QWEN) == {THINKING: "what is `<think>` for", ANSWER: "b"}


def test_a_call_token_in_thinking_is_a_mention() -> None:
    texts = ["<think>", "a ", "<tool_call>", " b", "</think>", "<tool_call>", "{}", "</tool_call>"]

    assert split(texts, added=QWEN) == {THINKING: "a <tool_call> b", TOOL_CALL: "{}"}


def test_only_its_own_closing_token_ends_a_part() -> None:
    texts = ["<tool_call>", "a", "</think>", "b", "</tool_call>", "c"]
    other = ["[THINK]", "a", "</think>", "b", "[/THINK]", "c"]

    assert split(texts, added=QWEN) == {TOOL_CALL: "a</think>b", ANSWER: "c"}
    assert split(other, added=(*QWEN, "[THINK]", "[/THINK]")) == {THINKING: "a</think>b", ANSWER: "c"}


def test_tag_tokens_are_marked_as_markup_and_belong_to_their_part() -> None:
    tokens = ScriptedTokens.of_texts("<think>", "a", "</think>", "b", added=QWEN)

    pieces = [token.piece for token in assemble(tokens, tokens.ids)]

    assert [(piece.part, piece.removed, piece.text) for piece in pieces] == [
        (THINKING, Removal.MARKUP, ""),
        (THINKING, None, "a"),
        (THINKING, Removal.MARKUP, ""),
        (ANSWER, None, "b"),
    ]


def test_special_tag_tokens_split_as_well() -> None:
    assert split(["[THINK]", "a", "[/THINK]", "b"], special=("[THINK]", "[/THINK]")) == {THINKING: "a", ANSWER: "b"}


def test_a_channel_message_names_its_part_in_a_header() -> None:
    thinking = ["<|channel|>", "analysis", "<|message|>", "hm", "<|end|>"]
    answer = ["<|start|>", "assistant", "<|channel|>", "final", "<|message|>", "hi"]
    tokens = ScriptedTokens.of_texts(*thinking, *answer, special=HARMONY)

    out = assemble(tokens, tokens.ids)

    assert by_part(out) == {THINKING: "hm", ANSWER: "hi"}
    assert [token.piece.removed for token in out if token.piece.data in (b"analysis", b"assistant", b"final")] == [
        Removal.MARKUP
    ] * 3


@pytest.mark.parametrize(
    "header",
    [
        ["<|channel|>", "commentary to=functions.f ", "<|constrain|>", "json", "<|message|>"],
        ["<|start|>", "assistant to=functions.f", "<|channel|>", "commentary", "<|message|>"],
    ],
)
def test_a_channel_message_to_a_tool_is_a_call(header: list[str]) -> None:
    assert split([*header, "{}", "<|call|>"], special=HARMONY) == {TOOL_CALL: "{}"}


def test_the_name_in_a_header_is_no_stop_string() -> None:
    tokens = ScriptedTokens.of_texts("<|channel|>", "final", "<|message|>", "the final word", special=HARMONY)
    out = assemble(tokens, tokens.ids, stop=["final"])

    assert by_part(out) == {ANSWER: "the "}


def test_an_opening_token_with_a_label_hides_the_label() -> None:
    texts = ["<|channel>", "tho", "ught", "\na", "<channel|>", "b"]

    assert split(texts, special=("<|channel>", "<channel|>")) == {THINKING: "\na", ANSWER: "b"}


def test_an_opening_token_without_its_label_loses_no_text() -> None:
    assert split(["<|channel>", "thorny"], special=("<|channel>", "<channel|>")) == {THINKING: "thorny"}


def test_tokens_around_an_answer_are_hidden() -> None:
    names = ("<|START_RESPONSE|>", "<|END_RESPONSE|>")

    assert split([names[0], "a", names[1]], added=names) == {ANSWER: "a"}


def test_endless_space_at_the_start_is_not_held_for_ever() -> None:
    tokens = ScriptedTokens.of_texts("\n")
    assembler = MessageAssembler(tokens)

    assert any(assembler.push(0) for _ in range(100))


def test_a_stop_string_does_not_match_over_the_border_of_two_parts() -> None:
    tokens = ScriptedTokens.of_texts("[THINK]", "be", "[/THINK]", "ta", special=("[THINK]", "[/THINK]"))

    assert by_part(assemble(tokens, tokens.ids, stop=["beta"])) == {THINKING: "be", ANSWER: "ta"}


def test_a_tag_can_be_a_stop_string() -> None:
    tokens = ScriptedTokens.of_texts("<think>", "a</th", "ink>b")
    assembler = MessageAssembler(tokens, stop=["</think>"])

    out = [token for token_id in tokens.ids for token in assembler.push(token_id)]

    assert assembler.stopped
    assert by_part(out) == {THINKING: "a"}
    assert out[-1].piece.removed is Removal.STOP_STRING

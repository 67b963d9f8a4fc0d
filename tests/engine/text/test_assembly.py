"""A message put together from token ids: nothing shown that is taken back, nothing lost, every token in its place."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from engine.contracts import Part, Removal, TokenLogprobs, TopLogprob
from engine.text.assembly import AssembledToken, MessageAssembler
from engine.text.characters import REPLACEMENT
from engine.text.decoder import TokenDecoder
from engine.text.model import TextModel
from tests.engine.text.assembling import assemble, by_part, check_spans, text_of
from tests.engine.text.scripted import ScriptedTokens
from tests.engine.text.small_tokenizers import SCRIPTS

Family = tuple[TextModel, Tokenizer]
BOUNDED = settings(max_examples=40, deadline=None)
CASE_21 = "🇨🇿 👨‍👩‍👧‍👦 👍🏽 你好 ď"


def push_all(assembler: MessageAssembler, token_ids: Sequence[int]) -> list[AssembledToken]:
    return [token for token_id in token_ids for token in assembler.push(token_id)]


@BOUNDED
@given(data=st.data())
def test_every_token_comes_out_once_in_order_and_spans_tile_the_text(family: Family, data: st.DataObject) -> None:
    model, _ = family
    token_ids = data.draw(st.lists(st.integers(0, model.vocabulary_size - 1), max_size=60))
    stop = data.draw(st.lists(st.text("ab <e", max_size=3), max_size=2))

    tokens = assemble(model, token_ids, stop=stop, opens_thinking=data.draw(st.booleans()))

    assert [token.id for token in tokens] == token_ids
    check_spans([token.piece for token in tokens])


@BOUNDED
@given(data=st.data())
def test_without_tags_the_text_is_the_whole_decoding(family: Family, data: st.DataObject) -> None:
    model, _ = family
    ordinary = [number for number in range(model.vocabulary_size) if number not in model.syntax.marks]
    token_ids = data.draw(st.lists(st.sampled_from(ordinary), max_size=60))
    decoder = TokenDecoder(model, continues=False)
    decoded = [token for token_id in token_ids for token in decoder.push(token_id)] + list(decoder.finish())

    tokens = assemble(model, token_ids)

    if all(token.piece.removed is None for token in tokens):
        assert text_of(tokens) == "".join(token.text for token in decoded)


@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_real_text_fed_one_token_at_a_time_is_shown_whole(family: Family, text: str) -> None:
    model, library = family
    token_ids = library.encode(text, add_special_tokens=False).ids

    tokens = assemble(model, token_ids)

    assert text_of(tokens) == library.decode(token_ids)
    check_spans([token.piece for token in tokens])


def test_no_stream_of_single_bytes_ever_shows_a_replacement_for_a_character_that_completes() -> None:
    tokens = ScriptedTokens.of_bytes(CASE_21.encode())
    streams = [MessageAssembler(tokens), MessageAssembler(tokens)]
    shown: list[list[AssembledToken]] = [[], []]

    for token_id in tokens.ids:
        for stream, out in zip(streams, shown, strict=True):
            out.extend(stream.push(token_id))
            assert REPLACEMENT not in text_of(out)
            assert CASE_21.startswith(text_of(out))

    assert [text_of(out) for out in shown] == [CASE_21, CASE_21]


def test_each_byte_of_a_character_is_a_token_of_its_own_over_the_same_span() -> None:
    tokens = ScriptedTokens.of_bytes("aď".encode())

    pieces = [token.piece for token in assemble(tokens, tokens.ids)]

    assert [(piece.data, piece.text, piece.start, piece.end) for piece in pieces] == [
        (b"a", "a", 0, 1),
        (b"\xc4", "", 1, 2),
        (b"\x8f", "ď", 1, 2),
    ]


def test_a_character_that_the_end_cuts_is_one_explicit_mark() -> None:
    tokens = ScriptedTokens.of_bytes("ok 🎉".encode()[:-1])

    assembler = MessageAssembler(tokens)
    shown = text_of(push_all(assembler, tokens.ids))

    assert shown == "ok "
    assert text_of(assembler.finish()) == REPLACEMENT


def test_a_stop_string_over_several_tokens_is_never_shown_and_the_records_stay_apart() -> None:
    tokens = ScriptedTokens.of_texts("al", "pha be", "ta ga", "mma de")
    assembler = MessageAssembler(tokens, stop=["beta gamma"])
    out: list[AssembledToken] = []
    for place, token_id in enumerate(tokens.ids):
        out += assembler.push(token_id, TokenLogprobs(logprob=-float(place)))
        assert "alpha ".startswith(text_of(out))

    assert assembler.stopped
    assert text_of(out) == "alpha "
    assert [(token.piece.text, token.piece.removed) for token in out] == [
        ("al", None),
        ("pha ", None),
        ("", Removal.STOP_STRING),
        ("", Removal.STOP_STRING),
    ]
    assert [token.logprobs and token.logprobs.logprob for token in out] == [0, -1, -2, -3]
    assert out[1].piece.data == b"pha be"


def test_text_held_for_a_stop_string_that_does_not_come_is_shown_at_once() -> None:
    tokens = ScriptedTokens.of_texts("a be", "ta", " gone")
    assembler = MessageAssembler(tokens, stop=["beta gamma"])

    assert [text_of(assembler.push(token_id)) for token_id in tokens.ids] == ["", "", "a beta gone"]
    assert not assembler.stopped


def test_text_held_at_the_end_is_shown() -> None:
    tokens = ScriptedTokens.of_texts("so be")
    assembler = MessageAssembler(tokens, stop=["beta"])

    assert text_of(assembler.push(0)) == ""
    assert text_of(assembler.finish()) == "so be"


def test_a_stop_string_inside_one_character_sequence_removes_all_its_bytes() -> None:
    tokens = ScriptedTokens.of_bytes("a你b".encode())

    out = assemble(tokens, tokens.ids, stop=["你"])

    assert text_of(out) == "a"
    assert [token.piece.removed for token in out] == [None, *[Removal.STOP_STRING] * 4]


def test_a_special_token_can_be_what_the_caller_stops_at() -> None:
    tokens = ScriptedTokens.of_texts("a", "<|im_end|>", "b", special={"<|im_end|>"})
    assembler = MessageAssembler(tokens, stop=["<|im_end|>"])

    out = push_all(assembler, tokens.ids)

    assert assembler.stopped
    assert [token.piece.removed for token in out] == [None, Removal.STOP_STRING, Removal.STOP_STRING]


def test_what_comes_after_a_stop_string_is_removed_with_it_special_or_not() -> None:
    tokens = ScriptedTokens.of_texts("x st", "op y", "<|im_end|>", "z", special={"<|im_end|>"})

    out = assemble(tokens, tokens.ids, stop=["stop"])

    assert text_of(out) == "x "
    assert [token.piece.removed for token in out] == [None, *[Removal.STOP_STRING] * 3]


def test_a_stop_string_is_found_over_a_token_that_divides_nothing() -> None:
    tokens = ScriptedTokens.of_texts("be", "<|START_RESPONSE|>", "ta", special={"<|START_RESPONSE|>"})

    assert text_of(assemble(tokens, tokens.ids, stop=["beta"])) == ""


def test_the_end_token_is_a_special_cell_without_text() -> None:
    tokens = ScriptedTokens.of_texts("done", "<|im_end|>", special={"<|im_end|>"})

    end = assemble(tokens, tokens.ids)[-1].piece

    assert (end.special, end.text, end.start, end.end, end.data) == (True, "", 4, 4, b"<|im_end|>")


def test_every_candidate_gets_its_bytes() -> None:
    tokens = ScriptedTokens.of_texts("yes", " no")
    measured = TokenLogprobs(logprob=-0.1, top=(TopLogprob(0, -0.1), TopLogprob(1, -2.0), TopLogprob(99, -3.0)))

    (token,) = MessageAssembler(tokens).push(0, measured)

    assert token.logprobs is not None
    assert token.logprobs.top == (
        TopLogprob(0, -0.1, b"yes"),
        TopLogprob(1, -2.0, b" no"),
        TopLogprob(99, -3.0, b""),
    )


def test_right_to_left_text_stays_in_logical_order() -> None:
    text = "هذه جملة تنتهي بنقطة. שלום English 42."
    tokens = ScriptedTokens.of_texts(*(f"{word} " for word in text.split()))

    out = assemble(tokens, tokens.ids)

    assert text_of(out) == f"{text} "
    assert [token.piece.text for token in out] == [f"{word} " for word in text.split()]
    check_spans([token.piece for token in out])


@pytest.mark.parametrize(
    "text", ["I have $24000 and you have $40000", r"\(x^2\) $$\frac{a}{b}$$ $x+1$ $\$0.60$", "`$VAR`"]
)
def test_dollars_and_backslashes_pass_untouched(text: str) -> None:
    tokens = ScriptedTokens.of_texts(*text)

    assert by_part(assemble(tokens, tokens.ids)) == {Part.ANSWER: text}


def seconds_to_assemble(tokens: ScriptedTokens, count: int) -> float:
    assembler = MessageAssembler(tokens, stop=["zebra", "<<<<<<<<>"])
    start = time.process_time()
    push_all(assembler, [number % len(tokens.ids) for number in range(count)])
    return time.process_time() - start


@pytest.mark.parametrize("words", [("Hello", " wor", "ld\n", "`a` <b>", "🎉"), ("<",), ("\n",), ("`",), ("ze",)])
def test_cost_is_linear_also_for_text_that_looks_like_tags(words: Sequence[str]) -> None:
    tokens = ScriptedTokens.of_texts(*words)
    seconds_to_assemble(tokens, 2_000)

    ratios = (seconds_to_assemble(tokens, 20_000) / seconds_to_assemble(tokens, 10_000) for _ in range(5))

    # One of five is enough: what is quadratic gives 4 each time, whatever else the machine does.
    assert any(ratio <= 2.4 for ratio in ratios)

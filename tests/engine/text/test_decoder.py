"""Token ids to text, against the library's own decoding of the whole."""

import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from engine.text.characters import REPLACEMENT
from engine.text.decoder import TokenDecoder
from engine.text.model import TextModel
from tests.engine.text.small_tokenizers import SAMPLE, SCRIPTS

Family = tuple[TextModel, Tokenizer]
BOUNDED = settings(max_examples=60, deadline=None)
LONG_LINE = "x" * 50_000 + "ž" * 50_000


def decode(model: TextModel, token_ids: Sequence[int], *, continues: bool = False) -> str:
    decoder = TokenDecoder(model, continues=continues)
    tokens = [token for token_id in token_ids for token in decoder.push(token_id)]
    return "".join(token.text for token in [*tokens, *decoder.finish()])


def whole(model: TextModel, library: Tokenizer, token_ids: Sequence[int]) -> str:
    """The library's own decoding.

    Where a run of single bytes is not valid as a whole, the library marks every byte of a run that SentencePiece pieces
    made; we keep the characters in it that are. There the bytes are the reference.
    """
    text: str = library.decode(list(token_ids), skip_special_tokens=True)
    if REPLACEMENT not in text:
        return text
    joined = b"".join(model.token_bytes(token_id) for token_id in token_ids if not model.is_special(token_id))
    return joined.decode(errors="replace").removeprefix(" " * model.leading_spaces)


@BOUNDED
@given(data=st.data())
def test_random_ids_decode_as_the_library_decodes_the_whole(family: Family, data: st.DataObject) -> None:
    model, library = family
    token_ids = data.draw(st.lists(st.integers(0, model.vocabulary_size - 1), max_size=60))

    assert decode(model, token_ids) == whole(model, library, token_ids)


@pytest.mark.parametrize("text", [*SCRIPTS, *SAMPLE, LONG_LINE], ids=range(len(SCRIPTS) + len(SAMPLE) + 1))
def test_real_text_comes_back_as_the_library_gives_it(family: Family, text: str) -> None:
    model, library = family
    token_ids = library.encode(text, add_special_tokens=False).ids

    assert decode(model, token_ids) == library.decode(token_ids)


@BOUNDED
@given(text=st.text(max_size=200))
def test_byte_level_text_comes_back_unchanged(byte_model: TextModel, text: str) -> None:
    assert decode(byte_model, byte_model._codec.encode_text(text)) == text


def single_bytes(model: TextModel) -> dict[int, int]:
    """The ids of the 256 one-byte tokens, by byte; a longer name never decodes to one byte here."""
    table: dict[int, int] = {}
    for token_id in range(model.vocabulary_size):
        spelled = model.token_bytes(token_id)
        if len(spelled) == 1 and not model.is_special(token_id):
            table.setdefault(spelled[0], token_id)
    return table


@BOUNDED
@given(first=st.text(max_size=30), second=st.text(max_size=30), schedule=st.lists(st.booleans(), max_size=400))
def test_two_interleaved_streams_of_single_bytes_do_not_disturb_each_other(
    byte_model: TextModel, first: str, second: str, schedule: list[bool]
) -> None:
    table = single_bytes(byte_model)
    decoders = TokenDecoder(byte_model, continues=True), TokenDecoder(byte_model, continues=True)
    queues = [list(first.encode()), list(second.encode())]
    shown = ["", ""]
    for which in [*map(int, schedule), *[0] * 200, *[1] * 200]:
        if queues[which]:
            tokens = decoders[which].push(table[queues[which].pop(0)])
            shown[which] += "".join(token.text for token in tokens)

    assert shown == [first, second]


def test_a_lone_byte_shows_its_mark_once_it_can_no_longer_become_a_character(byte_model: TextModel) -> None:
    table = single_bytes(byte_model)
    decoder = TokenDecoder(byte_model, continues=False)

    assert list(decoder.push(table[0xE4])) == []
    tokens = decoder.push(table[ord("a")])

    assert [token.text for token in tokens] == [REPLACEMENT, "a"]


def test_a_character_cut_at_the_end_is_one_mark(byte_model: TextModel) -> None:
    table = single_bytes(byte_model)

    assert decode(byte_model, [table[byte] for byte in "你🎉".encode()[:-1]]) == "你" + REPLACEMENT


def test_a_special_token_inside_a_character_does_not_break_it(byte_model: TextModel) -> None:
    table = single_bytes(byte_model)
    marker = byte_model._codec.added["<|im_start|>"]
    first, *rest = (table[byte] for byte in "你".encode())

    assert decode(byte_model, [first, marker, *rest]) == "你"


def test_continuing_keeps_the_leading_space(family: Family) -> None:
    model, library = family
    token_ids = library.encode("once upon", add_special_tokens=False).ids
    second = next(place for place, token in enumerate(token_ids) if model.token_bytes(token).startswith(b" ") and place)

    assert decode(model, token_ids[second:], continues=True).startswith(" ")


def test_an_unknown_id_is_an_empty_token(byte_model: TextModel) -> None:
    assert byte_model.token_bytes(byte_model.vocabulary_size + 7) == b""
    assert decode(byte_model, [byte_model.vocabulary_size + 7]) == ""


def seconds_to_decode(model: TextModel, token_ids: Sequence[int]) -> float:
    decoder = TokenDecoder(model, continues=False)
    start = time.process_time()
    for token_id in token_ids:
        decoder.push(token_id)
    return time.process_time() - start


def test_cost_is_linear(family: Family) -> None:
    model, library = family
    token_ids = library.encode(" ".join(SCRIPTS) * 400, add_special_tokens=False).ids[:20_000]
    decode(model, token_ids)

    ratios = (seconds_to_decode(model, token_ids) / seconds_to_decode(model, token_ids[:10_000]) for _ in range(5))

    # One of five is enough: what is quadratic gives 4 each time, whatever else the machine does.
    assert any(ratio <= 2.4 for ratio in ratios)

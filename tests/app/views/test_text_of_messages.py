"""Blocks hold a message's text exactly, and offsets mean the same on both sides of Qt."""

from hypothesis import given
from hypothesis import strategies as st

from app.views.transcript.blocks import MAX_BLOCK_CHARACTERS, Blocks
from app.views.transcript.message import TranscriptMessage
from app.views.transcript.utf16 import Utf16Index
from engine.contracts import Part, Role, TokenPiece
from tests.app.views.tokens import single_bytes, words

TEXTS = st.text(alphabet=st.sampled_from("ab \n😀é\t"), max_size=60)


def blocks_of(*texts: str) -> Blocks:
    blocks = Blocks()
    for text in texts:
        blocks.append(text, Part.ANSWER)
    return blocks


@given(st.lists(TEXTS, max_size=8))
def test_blocks_hold_the_text_however_it_arrives(texts: list[str]) -> None:
    whole = "".join(texts)
    blocks = blocks_of(*texts)

    assert blocks.text_between(0, len(whole)) == whole
    assert [b.text for b in map(blocks.__getitem__, range(len(blocks)))] == whole.split("\n")


@given(st.lists(TEXTS, max_size=8), st.integers(0, 100), st.integers(0, 100))
def test_any_stretch_of_the_text_can_be_copied(texts: list[str], start: int, end: int) -> None:
    whole = "".join(texts)

    assert blocks_of(*texts).text_between(start, end) == whole[start:end]


def test_finished_blocks_never_change() -> None:
    blocks = blocks_of("one\ntw")
    finished = blocks[0]
    first_changed = blocks.append("o\nthree", Part.ANSWER)

    assert first_changed == 1
    assert (blocks[0], blocks[1].text, blocks[2].text) == (finished, "two", "three")


def test_a_long_line_is_cut_at_spaces() -> None:
    line = "word " * 20_000
    blocks = blocks_of(line)
    texts = [blocks[index].text for index in range(len(blocks))]

    assert "".join(texts) == line
    assert max(map(len, texts)) <= MAX_BLOCK_CHARACTERS
    assert all(text.endswith(" ") for text in texts[:-1])


def test_a_long_line_without_spaces_is_cut_anywhere() -> None:
    blocks = blocks_of("x" * 100_000)

    assert len(blocks) == 100_000 // MAX_BLOCK_CHARACTERS


def test_parts_stand_in_blocks_of_their_own() -> None:
    message = TranscriptMessage("m", Role.ASSISTANT, "")
    message.append([*words("hm", part=Part.THINKING), *words("yes", start=2)], None)

    parts = [(message.blocks[index].text, message.blocks[index].part) for index in range(len(message.blocks))]
    assert parts == [("hm", Part.THINKING), ("yes", Part.ANSWER)]
    assert message.blocks.text_between(0, 5) == "hm\nyes"


@given(TEXTS, st.integers(0, 60))
def test_offsets_are_converted_both_ways(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    index = Utf16Index(text)

    assert index.to_units(offset) == len(text[:offset].encode("utf-16-le")) // 2
    assert index.to_code_points(index.to_units(offset)) == offset


def test_the_tokens_of_a_stretch_are_those_that_overlap_it() -> None:
    message = TranscriptMessage("m", Role.ASSISTANT, "")
    message.append(words("the quick brown fox"), None)

    assert message.tokens_between(4, 12) == [1, 2]
    assert message.tokens_between(0, 1) == [0]


def test_the_bytes_of_one_character_all_belong_to_it() -> None:
    message = TranscriptMessage("m", Role.ASSISTANT, "")
    message.append(single_bytes("a😀b"), None)

    assert message.tokens_between(1, 2) == [1, 2, 3, 4]
    assert message.tokens_between(2, 3) == [5]


def test_a_token_without_text_hides_none_before_it() -> None:
    message = TranscriptMessage("m", Role.ASSISTANT, "")
    message.append([TokenPiece(0, b"ab", "ab", 0, 2), TokenPiece(1, b"<|x|>", "", 1, 1, special=True)], None)

    assert message.tokens_between(1, 2) == [0]
    assert message.bare_tokens == [1]


def test_spans_count_from_the_text_that_the_message_began_with() -> None:
    message = TranscriptMessage("m", Role.ASSISTANT, "Once ")
    message.append(words("upon a time"), None)

    assert message.blocks.text_between(*message.span(0)) == "upon"

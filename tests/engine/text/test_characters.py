"""UTF-8 in portions, against decoding it as a whole."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text.characters import REPLACEMENT, CharacterStream

NEAR_MISSES = st.lists(st.sampled_from([0x00, 0x41, 0x80, 0x9F, 0xA0, 0xBF, 0xC3, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xFF]))


def portions(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    return [
        data[start:end]
        for start, end in itertools.pairwise([0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)])
    ]


@given(
    data=st.binary(max_size=40) | NEAR_MISSES.map(bytes) | st.text(max_size=20).map(str.encode),
    cuts=st.lists(st.integers(0, 99)),
)
@example(data=b"\xed\xa0", cuts=[1])
@example(data=b"\xf0\x9f\x98a", cuts=[1, 2, 3])
def test_any_portions_give_the_text_of_the_whole(data: bytes, cuts: list[int]) -> None:
    stream = CharacterStream()
    text = ""
    for portion in portions(data, cuts):
        broken, completed = stream.push(portion)
        text += broken + completed
        assert data.decode(errors="replace").startswith(text)

    assert text + stream.finish() == data.decode(errors="replace")


@pytest.mark.parametrize("character", ["a", "ď", "你", "🎉", "\x00", "\ufffd", "\U0010ffff"])
def test_a_character_comes_with_its_last_byte(character: str) -> None:
    stream = CharacterStream()
    *first, last = character.encode()

    assert all(stream.push(bytes([byte])) == ("", "") for byte in first)
    assert stream.push(bytes([last])) == ("", character)
    assert not stream.is_open


def test_a_mark_belongs_to_the_bytes_that_cannot_become_a_character() -> None:
    stream = CharacterStream()
    stream.push(b"\xe4\xbd")

    assert stream.push(b"a") == (REPLACEMENT, "a")


def test_a_mark_that_a_later_byte_has_part_in_belongs_to_it() -> None:
    stream = CharacterStream()
    stream.push(b"\xf0\x9f")

    assert stream.push(b"\x98a") == ("", REPLACEMENT + "a")

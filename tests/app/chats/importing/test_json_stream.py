"""JSON is read value by value, however big the file and however damaged."""

import io
import json
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chats.importing.json_stream import DamagedJsonError, JsonStream
from tests.app.chats.exporting.examples import BOUNDED

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Trickle(io.BytesIO):
    """Gives a byte or a few at a time, whatever is asked for, and counts what was asked."""

    def __init__(self, content: bytes, step: int = 1) -> None:
        super().__init__(content)
        self._step = step

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._step)


def part_by_part(stream: JsonStream) -> Any:
    """The next value, taken apart as far as it goes."""
    match stream.peek():
        case "[":
            return [part_by_part(stream) for _ in stream.elements()]
        case "{":
            return {name: part_by_part(stream) for name in stream.members()}
        case _:
            return stream.value()


@BOUNDED
@given(JSON, st.booleans(), st.sampled_from([None, 2]), st.integers(1, 7))
def test_a_document_is_the_same_whole_or_in_parts(value: Any, is_ascii: bool, indent: int | None, step: int) -> None:
    document = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()

    assert JsonStream(Trickle(document, step)).value() == value
    assert part_by_part(JsonStream(Trickle(document, step))) == value


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[",
        "[1",
        "[1,",
        "[1 2]",
        "[1,]",
        "{",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":1,',
        '{"a":1,}',
        "{1:2}",
        "{,}",
        "]",
        "tru",
    ],
)
def test_damage_is_told_when_it_is_reached(document: str) -> None:
    with pytest.raises(DamagedJsonError):
        part_by_part(JsonStream(io.BytesIO(document.encode())))


def test_what_came_before_the_damage_is_given() -> None:
    stream = JsonStream(io.BytesIO(b'[{"a": 1}, {"b": 2}, {"c'))
    elements = stream.elements()

    assert [stream.value() for _ in islice(elements, 2)] == [{"a": 1}, {"b": 2}]
    next(elements)
    with pytest.raises(DamagedJsonError):
        stream.value()


def test_a_value_that_is_too_big_is_not_read() -> None:
    class Endless(io.BytesIO):
        given = 0

        def read(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            self.given += size
            return b"x" * size

    file = Endless()
    file.write(b"")
    stream = JsonStream(file, max_value=200_000)

    with pytest.raises(DamagedJsonError):
        stream.value()
    assert file.given < 1_000_000


def test_a_value_that_is_too_deep_is_not_read() -> None:
    with pytest.raises(DamagedJsonError):
        JsonStream(io.BytesIO(b"[" * 1_000_000)).value()


def test_halves_of_pairs_are_replaced_however_deep_they_are() -> None:
    for depth in range(50, 1_000, 50):
        document = b"[" * depth + rb'"\ud83d"' + b"]" * depth
        try:
            value = JsonStream(io.BytesIO(document)).value()
        except DamagedJsonError:
            assert depth > 100
        else:
            assert json.dumps(value) == document.decode().replace("ud83d", "ufffd")


def test_a_number_with_too_many_digits_is_damage() -> None:
    with pytest.raises(DamagedJsonError):
        JsonStream(io.BytesIO(b"1" * 10_000)).value()


def test_a_byte_order_mark_is_skipped() -> None:
    assert JsonStream(io.BytesIO(b"\xef\xbb\xbf [1]")).value() == [1]


def test_what_is_not_utf_8_becomes_replacement_characters() -> None:
    assert JsonStream(io.BytesIO(b'"a\xff\xed\xa0\x80"')).value() == "a\ufffd\ufffd\ufffd\ufffd"


def test_halves_of_pairs_become_replacement_characters_in_names_too() -> None:
    document = rb'{"\ud83d": ["\uDE00", "\ud83d\ude00", 5, null]}'

    assert JsonStream(io.BytesIO(document)).value() == {"\ufffd": ["\ufffd", "\U0001f600", 5, None]}


def test_only_about_one_value_is_in_memory() -> None:
    """Memory is that of the reader's text: 20 MB of small values are read in pieces of 64 KB."""
    import tracemalloc

    document = b"[" + b",".join([b'{"text": "' + b"x" * 1000 + b'"}'] * 20_000) + b"]"
    stream = JsonStream(io.BytesIO(document))

    tracemalloc.start()
    count = sum(stream.value() is not None for _ in stream.elements())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 20_000
    assert peak < 1_000_000

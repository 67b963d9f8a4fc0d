"""Frames survive any cutting of the stream; bad ones are refused early."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.host.framing import FrameDecoder, FrameError, encode_frame


@given(st.lists(st.binary(max_size=300), max_size=20), st.integers(1, 64))
def test_frames_come_out_as_they_went_in_however_the_stream_is_cut(contents: list[bytes], step: int) -> None:
    stream = b"".join(encode_frame(content) for content in contents)
    decoder = FrameDecoder()
    pieces = [stream[start : start + step] for start in range(0, len(stream), step)]
    assert [frame for piece in pieces for frame in decoder.feed(piece)] == contents
    assert decoder.is_between_frames


def test_a_frame_of_the_largest_size_passes_and_one_byte_more_does_not() -> None:
    decoder = FrameDecoder(max_bytes=10)
    assert list(decoder.feed(encode_frame(b"x" * 10, max_bytes=10))) == [b"x" * 10]
    with pytest.raises(FrameError):
        encode_frame(b"x" * 11, max_bytes=10)
    with pytest.raises(FrameError):
        list(decoder.feed(struct.pack(">I", 11)))


def test_a_length_over_the_limit_is_refused_before_its_content_comes() -> None:
    with pytest.raises(FrameError, match="4294967295"):
        list(FrameDecoder().feed(b"\xff\xff\xff\xff"))


def test_frames_before_a_bad_one_are_not_lost() -> None:
    frames = FrameDecoder().feed(encode_frame(b"good") + b"\xff\xff\xff\xff")
    assert next(frames) == b"good"
    with pytest.raises(FrameError):
        next(frames)


def test_an_unfinished_frame_is_told_from_a_finished_one() -> None:
    decoder = FrameDecoder()
    assert list(decoder.feed(encode_frame(b"half")[:-1])) == []
    assert not decoder.is_between_frames
    assert list(decoder.feed(b"f")) == [b"half"]
    assert decoder.is_between_frames

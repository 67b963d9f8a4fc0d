"""Frames on a byte stream: four bytes of length, most significant first, then so many bytes."""

import struct
from collections.abc import Iterator
from typing import Final

MAX_FRAME_BYTES: Final = 64 * 1024 * 1024
_HEADER: Final = struct.Struct(">I")


class FrameError(ValueError):
    """The stream cannot be read on from here, or a message does not fit a frame."""


def encode_frame(content: bytes, max_bytes: int = MAX_FRAME_BYTES) -> bytes:
    """`content` with its length in front. Raises `FrameError` when it is longer than `max_bytes`."""
    if len(content) > max_bytes:
        raise FrameError(f"a message of {len(content)} bytes is over the limit of {max_bytes}")
    return _HEADER.pack(len(content)) + content


class FrameDecoder:
    """Cuts a stream that arrives in arbitrary pieces into frames.

    Holds at most one unfinished frame: a length over `max_bytes` is refused before any of its content is kept.
    """

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()

    @property
    def is_between_frames(self) -> bool:
        """The stream may end here."""
        return not self._buffer

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """The frames that `piece` completes, in order. Raises `FrameError` on an oversized one.

        The iterator must be used up before the next piece is fed.
        """
        self._buffer += piece
        start = 0
        while (end := self._frame_end(start)) is not None and end <= len(self._buffer):
            yield bytes(memoryview(self._buffer)[start + _HEADER.size : end])
            start = end
        del self._buffer[:start]

    def _frame_end(self, start: int) -> int | None:
        """Where the frame that begins at `start` ends; None until its header is complete."""
        if len(self._buffer) - start < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self._buffer, start)
        if length > self._max_bytes:
            raise FrameError(f"a frame of {length} bytes is over the limit of {self._max_bytes}")
        return start + _HEADER.size + int(length)

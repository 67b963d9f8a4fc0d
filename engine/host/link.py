"""One end of the wire: messages in, messages out."""

import asyncio
import socket
from collections.abc import Callable
from typing import Generic, TypeVar, cast

import msgspec

from engine.host.framing import FrameDecoder, FrameError, encode_frame
from engine.host.messages import encode

M = TypeVar("M")


class ProtocolError(ValueError):
    """A message that is valid by itself came where it must not."""


class Link(asyncio.Protocol, Generic[M]):
    """Belongs to one loop. `receive` is called with every message in order, then `lost`, once, with what broke.

    Bytes that are no valid message break the link, and so does a `ProtocolError` of `receive`: after either there is no
    telling what the two sides believe of each other. A message to a lost link is dropped.
    """

    def __init__(
        self, decode: Callable[[bytes], M], receive: Callable[[M], None], lost: Callable[[Exception | None], None]
    ) -> None:
        self._decode = decode
        self._receive = receive
        self._lost = lost
        self._frames = FrameDecoder()
        self._transport: asyncio.Transport | None = None
        self._may_send = asyncio.Event()
        self._broken: Exception | None = None

    async def attach(self, sock: socket.socket) -> None:
        """Take over a connected stream socket."""
        await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)

    def send_nowait(self, message: msgspec.Struct) -> None:
        """Send without waiting for room: for messages whose number is bounded by something else."""
        self.send_frame_nowait(encode_frame(encode(message)))

    def send_frame_nowait(self, frame: bytes) -> None:
        """Send a message that is in its frame already."""
        if self._transport is not None:
            self._transport.write(frame)

    async def send(self, message: msgspec.Struct) -> None:
        """Send once the other side has taken most of what was sent before."""
        await self._may_send.wait()
        self.send_nowait(message)

    def close(self) -> None:
        """Send what is waiting, then hang up."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._may_send.set()

    def pause_writing(self) -> None:
        self._may_send.clear()

    def resume_writing(self) -> None:
        self._may_send.set()

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._frames.feed(data):
                self._receive(self._decode(frame))
        except (ValueError, msgspec.DecodeError) as error:
            self._break(error)

    def eof_received(self) -> None:
        if not self._frames.is_between_frames:
            self._break(FrameError("the connection ended within a frame"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._may_send.set()
        self._lost(self._broken or exc)

    def _break(self, error: Exception) -> None:
        self._broken = error
        self.abort()

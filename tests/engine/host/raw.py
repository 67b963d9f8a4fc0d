"""One end of the wire in the test's own hands."""

import asyncio
import socket
from typing import Any, Self

import msgspec

from engine.host.framing import encode_frame
from engine.host.messages import WIRE_VERSION, Hello, ToApp, ToEngine, decode_for_app, decode_for_engine, encode


class RawEnd:
    """Sends any bytes; reads frames. `decode` reads what the other side says."""

    def __init__(self, sock: socket.socket, decode: Any) -> None:
        self._sock = sock
        self._decode = decode
        self._sock.setblocking(False)

    async def send(self, message: msgspec.Struct) -> None:
        await self.send_bytes(encode_frame(encode(message)))

    async def send_bytes(self, content: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self._sock, content)

    async def receive(self) -> Any:
        """The next message, or None at the end of the stream."""
        header = await self._read(4)
        return self._decode(await self._read(int.from_bytes(header, "big"))) if header else None

    def close(self) -> None:
        self._sock.close()

    async def _read(self, size: int) -> bytes:
        content = b""
        async with asyncio.timeout(10):
            while len(content) < size:
                piece = await asyncio.get_running_loop().sock_recv(self._sock, size - len(content))
                if not piece:
                    return b""
                content += piece
        return content


class RawApp(RawEnd):
    """Plays the app against a real server."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock, decode_for_app)

    async def greet(self) -> ToApp:
        """Complete the handshake; the engine's greeting."""
        await self.send(Hello(WIRE_VERSION, 1))
        greeting: ToApp = await self.receive()
        return greeting


class RawEngine(RawEnd):
    """Plays the engine against a real client; implements `EngineHandle`."""

    def __init__(self) -> None:
        self.sock, theirs = socket.socketpair()
        super().__init__(theirs, decode_for_engine)
        self.exit_code: int | None = None
        self.words = ""

    def launch(self) -> Self:
        return self

    async def greet(self) -> ToEngine:
        """Complete the handshake; the app's greeting."""
        await self.send(Hello(WIRE_VERSION, 4242))
        greeting: ToEngine = await self.receive()
        return greeting

    def die(self, exit_code: int) -> None:
        """End as a process does: its first exit code stays."""
        if self.exit_code is None:
            self.exit_code = exit_code
        self._sock.close()

    def poll(self) -> int | None:
        return self.exit_code

    def kill(self) -> None:
        self.die(-9)

    def last_words(self) -> str:
        return self.words

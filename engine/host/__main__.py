"""The engine process."""

import argparse
import asyncio
import faulthandler
import importlib
import os
import signal
import socket
from collections.abc import Callable, Sequence
from typing import cast

from engine.contracts import Engine
from engine.host.deadline import ExitDeadline
from engine.host.logs import log_to_stderr, log_unhandled
from engine.host.server import EngineServer

STDOUT, STDERR = 1, 2


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the app at the other end of an inherited socket until it goes away."""
    # Libraries print. Nothing reads this process's standard output, and a full pipe would block the engine.
    os.dup2(STDERR, STDOUT)
    options = _parse(arguments)
    faulthandler.enable()
    log_to_stderr()
    # Ctrl+C in a terminal is the app's to answer; it reaches the engine as the end of the wire.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ExitDeadline(options.fd).start()
    asyncio.run(_serve(socket.socket(fileno=options.fd), _factory(options.engine)))


async def _serve(sock: socket.socket, build: Callable[[], Engine]) -> None:
    server = EngineServer(build)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_unhandled)
    loop.add_signal_handler(signal.SIGTERM, server.leave)
    await server.serve(sock)


def _factory(name: str) -> Callable[[], Engine]:
    """Calls `module:function`. The import is put off until the handshake is answered: MLX takes a second."""

    def build() -> Engine:
        module, _, function = name.partition(":")
        return cast(Engine, getattr(importlib.import_module(module), function)())

    return build


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="engine.host", description="The engine process of Candor.")
    parser.add_argument("--fd", type=int, required=True, help="the inherited socket to the app")
    parser.add_argument(
        "--engine", default="engine.assembly:build_engine", help="module:function that builds an engine"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()

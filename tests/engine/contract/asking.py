"""What the rules of the contract ask of an engine."""

import asyncio
from collections.abc import Callable
from typing import Any

from engine.contracts import (
    Committed,
    GenerationRequest,
    Message,
    Role,
    Session,
    SessionEvent,
)
from tests.engine.contract.run_engine import measured, piece

ENDLESS = GenerationRequest(model="endless", messages=())
SILENT = GenerationRequest(model="silent", messages=())


def ask(tokens: int, content: str = "", model: str = "tiny") -> GenerationRequest:
    return GenerationRequest(model=model, messages=(Message(Role.USER, content),), max_tokens=tokens)


def answer(request: GenerationRequest) -> list[SessionEvent]:
    """Every event of the answer to `request`."""
    return [
        Committed(number, (number,), (measured(number),), (piece(request, number),))
        for number in range(request.max_tokens or 0)
    ]


async def read_all(session: Session[Any]) -> list[SessionEvent]:
    return [event async for event in session]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is looked at is no event: the engine's own counters
            await asyncio.sleep(0)

"""Rows of the chat file read as turns, damaged ones as damaged."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from app.chats.token_records import TokenRecords, decode_tokens
from app.chats.tree import Turn, TurnId, TurnState
from engine.contracts import GenerationResult, Problem, Role, TokenLogprobs, TokenPiece


class Chunk(NamedTuple):
    """A stretch of a turn's text; `record` is None where no tokens were stored."""

    ordinal: int
    text: str
    checksum: int
    record: bytes | None = None

    @property
    def is_intact(self) -> bool:
        return self.checksum == checksum_of(self.text)


def chunk_of(ordinal: Any, text: Any, checksum: Any, record: Any = None) -> Chunk:  # noqa: ANN401 a file may hold anything
    """What is not of its column's type becomes a chunk that is not intact."""
    if isinstance(ordinal, int) and isinstance(text, str) and isinstance(checksum, int):
        return Chunk(ordinal, text, checksum, record if isinstance(record, bytes) else None)
    return Chunk(-1, "", -1)


def checksum_of(text: str) -> int:
    return zlib.crc32(text.encode())


def turn_of(row: Sequence[Any], chunks: Sequence[Chunk]) -> Turn:
    """`row` is (id, parent, role, state, model, created_ms, result, problem). Never raises for what a file may hold."""
    id_, parent, role, state, model, created_ms, result, problem = row
    text = "".join(chunk.text for chunk in chunks)
    fields = {"id": id_, "parent": parent, "role": role, "state": state, "model": model, "created_ms": created_ms}
    try:
        turn = msgspec.convert(fields | {"text": text}, Turn)
        ending = msgspec.structs.replace(
            turn, result=_ending(result, GenerationResult), problem=_ending(problem, Problem)
        )
    except msgspec.MsgspecError:
        known_role = role if role in set(Role) else Role.ASSISTANT
        known_parent = TurnId(parent) if isinstance(parent, int) else None
        return Turn(id=id_, parent=known_parent, role=Role(known_role), text=text, state=TurnState.DAMAGED)
    return ending if are_whole(chunks) else msgspec.structs.replace(ending, state=TurnState.DAMAGED)


def are_whole(chunks: Sequence[Chunk]) -> bool:
    """Nothing is missing in between and every text is the one that was written."""
    return all(chunk.is_intact and chunk.ordinal == place for place, chunk in enumerate(chunks))


def tokens_of(chunks: Iterable[Chunk]) -> TokenRecords:
    """All tokens in order. A stretch whose record is missing or damaged is one piece without measurements."""
    pieces: list[TokenPiece] = []
    logprobs: list[TokenLogprobs | None] = []
    offset = 0
    for chunk in chunks:
        records = _decoded(chunk) or _unmeasured(chunk.text, offset)
        offset += len(chunk.text)
        pieces += records.pieces
        logprobs += records.logprobs
    return TokenRecords(tuple(pieces), tuple(logprobs))


def _decoded(chunk: Chunk) -> TokenRecords | None:
    try:
        return None if chunk.record is None else decode_tokens(chunk.record, chunk.text)
    except ValueError:
        return None


def _unmeasured(text: str, offset: int) -> TokenRecords:
    return TokenRecords((TokenPiece(NO_TOKEN, text.encode(), text, offset, offset + len(text)),), (None,))


NO_TOKEN = -1
"""The id of a piece whose tokens are not known."""


def _ending(stored: str | None, kind: type) -> Any:  # noqa: ANN401 the caller's struct takes it
    return None if stored is None else msgspec.json.decode(stored, type=kind)

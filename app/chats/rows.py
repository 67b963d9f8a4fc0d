"""Rows of the chat file read as turns, damaged ones as damaged."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from app.chats.token_records import TokenRecords, decode_tokens
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState
from engine.contracts import GenerationResult, Part, Problem, Role, TokenLogprobs, TokenPiece


class Chunk(NamedTuple):
    """A stretch of a turn's text in one part of the message; `record` is None where no tokens were stored."""

    ordinal: int
    part: str
    text: str
    checksum: int
    record: bytes | None = None

    @property
    def is_intact(self) -> bool:
        return self.checksum == checksum_of(self.text)


def chunk_of(row: Sequence[object]) -> Chunk:
    """`row` is (ordinal, part, text, checksum, record or nothing). What is of a wrong type becomes not intact."""
    try:
        return msgspec.convert(row, Chunk)
    except msgspec.ValidationError:
        return Chunk(-1, Part.ANSWER, "", -1)


def checksum_of(text: str) -> int:
    return zlib.crc32(text.encode())


def turn_of(row: Sequence[Any], chunks: Sequence[Chunk]) -> Turn:
    """`row` is (id, parent, role, state, model, created_ms, result, problem). Never raises for what a file may hold."""
    id_, parent, role, *_, result, problem = row
    text = "".join(chunk.text for chunk in chunks if chunk.part != Part.THINKING)
    thinking = "".join(chunk.text for chunk in chunks if chunk.part == Part.THINKING)
    fields = dict(zip(_TURN_FIELDS, row, strict=False)) | {"text": text, "thinking": thinking}
    try:
        turn = msgspec.convert(fields, Turn)
        ending = msgspec.structs.replace(
            turn, result=_ending(result, GenerationResult), problem=_ending(problem, Problem)
        )
    except msgspec.MsgspecError:
        known_role = role if role in set(Role) else Role.ASSISTANT
        known_parent = TurnId(parent) if isinstance(parent, int) else None
        known = Turn(id=id_, parent=known_parent, role=Role(known_role), text=text, thinking=thinking)
        return msgspec.structs.replace(known, state=TurnState.DAMAGED)
    return ending if are_whole(chunks) else msgspec.structs.replace(ending, state=TurnState.DAMAGED)


def chat_of(chat: ChatId, row: Sequence[Any], turns: tuple[Turn, ...]) -> Chat:
    """`row` is (title, model, draft, head). What of it is damaged is left out; the last turn is the head then."""
    title, model, draft, head = row
    last = turns[-1].id if turns else None
    return Chat(
        id=chat,
        title=title if isinstance(title, str) else "",
        model=model if isinstance(model, str) else None,
        draft=draft if isinstance(draft, str) else "",
        head=TurnId(head) if isinstance(head, int) else last if head is not None else None,
        turns=turns,
    )


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


_TURN_FIELDS = ("id", "parent", "role", "state", "model", "created_ms")

NO_TOKEN = -1
"""The id of a piece whose tokens are not known."""


def _ending(stored: str | None, kind: type) -> Any:  # noqa: ANN401 the caller's struct takes it
    return None if stored is None else msgspec.json.decode(stored, type=kind)

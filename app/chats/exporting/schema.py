"""The shape of Candor's own JSON, version 1; `FORMAT.md` beside this file describes it for readers of the files."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

import msgspec

from app.chats.exporting.numbers import Number, float_of, number_of, writable
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, Turn
from engine.contracts import Part, Removal, TokenLogprobs, TokenPiece, TopLogprob

CHATS_FORMAT: Final = "candor-chats"
ANSWER_FORMAT: Final = "candor-answer"
VERSION: Final = 1


TokenId = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**53)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""Every program that reads JSON has these numbers exactly."""


class CandidateRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `TopLogprob` with named fields. Log-probabilities are in nats; a missing one was not measured."""

    id: TokenId
    data: bytes = msgspec.field(name="bytes", default=b"")
    logprob: Number = None
    adjusted: Number = None
    sampled: Number = None
    excluded_by: str | None = None


class MeasureRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `TokenLogprobs` with named fields; `rank` 0 is the most probable, `entropy` is in nats."""

    logprob: Number = None
    adjusted: Number = None
    sampled: Number = None
    rank: Count | None = None
    entropy: Number = None
    top: tuple[CandidateRecord, ...] | None = None


class TokenRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A `TokenPiece` with named fields; `bytes` is base64, `start` and `end` count code points of the message."""

    id: TokenId
    data: bytes = msgspec.field(name="bytes")
    text: str
    start: Count
    end: Count
    part: Part = Part.ANSWER
    special: bool = False
    removed: Removal | None = None
    logprobs: MeasureRecord | None = None


def token_records(records: TokenRecords) -> list[TokenRecord]:
    return [_token(piece, measured) for piece, measured in zip(records.pieces, records.logprobs, strict=True)]


def tokens_of_records(stored: Iterable[TokenRecord]) -> TokenRecords:
    """The inverse. Raises `ValueError` for a number that is none."""
    pieces, logprobs = [], []
    for token in stored:
        pieces.append(_piece(token))
        logprobs.append(None if token.logprobs is None else measured_of(token.logprobs))
    return TokenRecords(tuple(pieces), tuple(logprobs))


def fields_record(value: Turn | Chat) -> dict[str, Any]:
    """Every field that differs from its default."""
    told = [field.name for field in msgspec.structs.fields(value) if getattr(value, field.name) != field.default]
    fields: dict[str, Any] = writable(msgspec.to_builtins(value))
    return {name: fields[name] for name in told}


def turn_of_record(record: dict[str, Any]) -> Turn:
    """The turn without its tokens. Raises `msgspec.ValidationError`."""
    # Not strict: numbers that JSON lacks are strings, and so are the keys of a logit bias.
    return msgspec.convert(record, Turn, strict=False, str_keys=True)


def candidate_record(candidate: TopLogprob) -> CandidateRecord:
    return CandidateRecord(
        id=candidate.id,
        data=candidate.data,
        logprob=number_of(candidate.logprob),
        adjusted=number_of(candidate.adjusted),
        sampled=number_of(candidate.sampled),
        excluded_by=candidate.excluded_by,
    )


def candidate_of(record: CandidateRecord) -> TopLogprob:
    return TopLogprob(
        record.id,
        float_of(record.logprob),
        record.data,
        float_of(record.adjusted),
        float_of(record.sampled),
        record.excluded_by,
    )


def measured_of(record: MeasureRecord) -> TokenLogprobs:
    return TokenLogprobs(
        float_of(record.logprob),
        None if record.top is None else tuple(candidate_of(each) for each in record.top),
        float_of(record.adjusted),
        float_of(record.sampled),
        record.rank,
        float_of(record.entropy),
    )


def _token(piece: TokenPiece, measured: TokenLogprobs | None) -> TokenRecord:
    return TokenRecord(
        id=piece.id,
        data=piece.data,
        text=piece.text,
        start=piece.start,
        end=piece.end,
        part=piece.part,
        special=piece.special,
        removed=piece.removed,
        logprobs=None if measured is None else _measures(measured),
    )


def _measures(measured: TokenLogprobs) -> MeasureRecord:
    return MeasureRecord(
        logprob=number_of(measured.logprob),
        adjusted=number_of(measured.adjusted),
        sampled=number_of(measured.sampled),
        rank=measured.rank,
        entropy=number_of(measured.entropy),
        top=None if measured.top is None else tuple(candidate_record(each) for each in measured.top),
    )


def _piece(token: TokenRecord) -> TokenPiece:
    return TokenPiece(
        token.id, token.data, token.text, token.start, token.end, token.part, token.special, token.removed
    )

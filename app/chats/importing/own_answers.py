"""One answer from the JSON or CSV it was exported to, exactly as it was."""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

import msgspec

from app.chats.exporting.answer import Answer
from app.chats.exporting.cells import cell_text
from app.chats.exporting.csv_table import COLUMNS, texts_of
from app.chats.exporting.schema import (
    CandidateRecord,
    MeasureRecord,
    TokenRecord,
    tokens_of_records,
    turn_of_record,
)
from app.chats.importing.import_problems import not_recognised
from app.chats.importing.json_stream import DamagedJsonError, JsonStream
from app.chats.importing.own_chats import read_own_answer
from app.chats.token_records import TokenRecords
from engine.contracts import ProblemError

_MAX_CELL: Final = 2**27


def answer_of_json(text: str) -> Answer:
    """Raises `ProblemError` when `text` is no answer that was exported."""
    with _recognised():
        stream = JsonStream(io.BytesIO(text.encode()))
        head: dict[str, object] = {}
        answers: list[Answer] = []
        for name in stream.members():
            if name == "answer":
                answers.append(read_own_answer(stream))
            else:
                head[name] = stream.value()
        msgspec.convert(head, _AnswerHead)
        (answer,) = answers
        return answer


def answer_of_csv(text: str) -> Answer:
    """Raises `ProblemError` when `text` is no answer that was exported."""
    with _recognised():
        rows = _rows(text)
        records = tokens_of_records(_token(row) for row in rows if row["id"])
        return Answer(turn_of_record(_turn_fields(rows[0]["answer"], records)), records)


class _AnswerHead(msgspec.Struct):
    format: Literal["candor-answer"]
    version: Literal[1]


@contextmanager
def _recognised() -> Iterator[None]:
    """Whatever a file can be wrong in, it is not what was exported."""
    try:
        yield
    except (msgspec.MsgspecError, DamagedJsonError, csv.Error, ValueError, TypeError, RecursionError) as error:
        raise ProblemError(not_recognised()) from error


def _rows(text: str) -> list[dict[str, str]]:
    with _wide_cells():
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    if not rows or set(rows[0]) != set(COLUMNS):
        raise ValueError("other columns")
    return rows


def _turn_fields(cell: str, records: TokenRecords) -> dict[str, object]:
    """What the tokens spell is not said again."""
    return {**texts_of(records.pieces), **msgspec.json.decode(cell, type=dict[str, object])}


def _token(row: Mapping[str, str]) -> TokenRecord:
    cells = {name: row[name] for name in ("id", "start", "end", "part")}
    special = msgspec.json.decode(row["special"], type=bool)
    is_measured = msgspec.json.decode(row["measured"], type=bool)
    fields = {**cells, "text": cell_text(row["text"]), "removed": row["removed"] or None, "special": special}
    token = msgspec.convert({**fields, "bytes": b""}, TokenRecord, strict=False)
    return msgspec.structs.replace(
        token, data=bytes.fromhex(row["bytes"]), logprobs=_measures(row) if is_measured else None
    )


def _measures(row: Mapping[str, str]) -> MeasureRecord:
    top = msgspec.json.decode(row["top"], type=tuple[CandidateRecord, ...]) if row["top"] else None
    return MeasureRecord(
        logprob=_number(row["logprob"]),
        adjusted=_number(row["adjusted"]),
        sampled=_number(row["sampled"]),
        rank=int(row["rank"]) if row["rank"] else None,
        entropy=_number(row["entropy"]),
        top=top,
    )


def _number(cell: str) -> float | None:
    return float(cell_text(cell)) if cell else None


@contextmanager
def _wide_cells() -> Iterator[None]:
    """The reader's limit is one for the whole program, so it is put back."""
    before = csv.field_size_limit(_MAX_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)

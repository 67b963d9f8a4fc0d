"""An answer's tokens as a table with one row a token; `FORMAT.md` describes its columns."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from app.chats.exporting.answer import Answer, batches, known_tokens
from app.chats.exporting.cells import safe_cell
from app.chats.exporting.schema import MeasureRecord, TokenRecord, fields_record, token_records
from app.chats.token_records import TokenRecords
from app.chats.tree import Turn
from engine.contracts import Part, TokenPiece

COLUMNS: Final = (
    "index",
    "id",
    "bytes",
    "text",
    "start",
    "end",
    "part",
    "special",
    "removed",
    "measured",
    "logprob",
    "adjusted",
    "sampled",
    "rank",
    "entropy",
    "top",
    "answer",
)


def answer_as_csv(answer: Answer) -> Iterator[str]:
    """RFC 4180 with a header, some hundreds of rows at a time.

    An answer without known tokens has one row, in which only `answer` is filled.
    """
    records = known_tokens(answer.records)
    told = {"answer": _encoded(_without_token_texts(answer.turn, records))}
    yield _lines([dict(zip(COLUMNS, COLUMNS, strict=True))])
    if not records.pieces:
        yield _lines([told])
    start = 0
    for batch in batches(records):
        rows = [_token_cells(place, token) for place, token in enumerate(token_records(batch), start)]
        yield _lines([rows[0] | (told if start == 0 else {}), *rows[1:]])
        start += len(rows)


def texts_of(pieces: Iterable[TokenPiece]) -> dict[str, str]:
    """The message's `text` and `thinking` as its tokens spell them."""
    spelled: dict[str, list[str]] = {"text": [], "thinking": []}
    for piece in pieces:
        spelled["thinking" if piece.part is Part.THINKING else "text"].append(piece.text)
    return {field: "".join(parts) for field, parts in spelled.items()}


def _lines(rows: Iterable[dict[str, str]]) -> str:
    table = io.StringIO()
    csv.DictWriter(table, COLUMNS, restval="").writerows(rows)
    return table.getvalue()


def _without_token_texts(turn: Turn, records: TokenRecords) -> dict[str, Any]:
    """A cell holds little in some programs, so what the tokens spell is not said again."""
    spelled = texts_of(records.pieces)
    fields = {"text": "", "thinking": ""} | fields_record(turn)
    return {name: value for name, value in fields.items() if name not in spelled or spelled[name] != value}


def _token_cells(place: int, token: TokenRecord) -> dict[str, str]:
    return {
        "index": str(place),
        "id": str(token.id),
        "bytes": token.data.hex(),
        "text": safe_cell(token.text),
        "start": str(token.start),
        "end": str(token.end),
        "part": token.part,
        "special": _encoded(token.special),
        "removed": token.removed or "",
        "measured": _encoded(token.logprobs is not None),
    } | _measure_cells(token.logprobs or MeasureRecord())


def _measure_cells(measured: MeasureRecord) -> dict[str, str]:
    numbers = {name: getattr(measured, name) for name in ("logprob", "adjusted", "sampled", "rank", "entropy")}
    cells = {name: "" if number is None else _number_cell(number) for name, number in numbers.items()}
    return cells | {"top": "" if measured.top is None else _encoded(measured.top)}


def _number_cell(number: float | str) -> str:
    """A plain number is no formula although it may begin with a minus; "-Infinity" would be one."""
    return safe_cell(number) if isinstance(number, str) else repr(number)


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()

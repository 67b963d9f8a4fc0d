"""What was exported comes back exactly."""

import csv
import io
import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.chats.exporting.answer import Answer
from app.chats.exporting.cells import cell_text, safe_cell
from app.chats.exporting.csv_table import COLUMNS, answer_as_csv
from app.chats.exporting.json_file import answer_as_json, chats_as_json
from app.chats.exporting.numbers import writable
from app.chats.exporting.schema import CandidateRecord, MeasureRecord, TokenRecord, fields_record
from app.chats.importing.own_answers import answer_of_csv, answer_of_json
from app.chats.importing.reading import import_chats
from app.chats.importing.values import ImportedChat
from app.chats.rows import NO_TOKEN
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState
from engine.contracts import GenerationResult, Problem, ProblemError, Role, SamplingSettings, TokenLogprobs, TokenPiece
from tests.app.chats.exporting import examples
from tests.app.chats.exporting.examples import BOUNDED


def exactly(value: object) -> str:
    """Equal only for equal values, where a NaN equals another and -0.0 is not 0.0."""
    return repr(value)


@BOUNDED
@given(st.lists(examples.chats(), max_size=2), st.data())
def test_chats_come_back_from_json_with_all_turns_and_tokens(chats: list[Chat], data: st.DataObject) -> None:
    records = {turn.id: data.draw(examples.records) for chat in chats for turn in chat.turns}

    document = "".join(chats_as_json(chats, lambda turn: records[turn]))

    expected = [
        ImportedChat(chat, {turn.id: records[turn.id] for turn in chat.turns if records[turn.id].pieces})
        for chat in chats
    ]
    assert [exactly(found) for found in import_chats(io.BytesIO(document.encode()))] == [
        exactly(ImportedChat(chat, dict(tokens))) for chat, tokens in expected
    ]


@BOUNDED
@given(examples.answers)
def test_an_answer_comes_back_from_json(answer: Answer) -> None:
    assert exactly(answer_of_json("".join(answer_as_json(answer)))) == exactly(answer)


@BOUNDED
@given(examples.answers)
def test_an_answer_comes_back_from_csv(answer: Answer) -> None:
    assert exactly(answer_of_csv("".join(answer_as_csv(answer)))) == exactly(answer)


def test_a_long_answer_without_known_tokens_comes_back_from_csv() -> None:
    answer = Answer(msgspec.structs.replace(examples.QUESTION, text="word, " * 100_000))
    limit = csv.field_size_limit()

    assert answer_of_csv("".join(answer_as_csv(answer))) == answer
    assert csv.field_size_limit() == limit


@BOUNDED
@given(examples.texts | st.text())
def test_a_cell_gives_back_its_text(text: str) -> None:
    assert cell_text(safe_cell(text)) == text


@BOUNDED
@given(examples.answers)
def test_no_cell_of_text_is_a_formula(answer: Answer) -> None:
    for row in csv.DictReader(io.StringIO("".join(answer_as_csv(answer)), newline="")):
        for column, cell in row.items():
            if cell.lstrip().startswith(("=", "+", "-", "@", "＝", "＋", "－", "＠")):
                assert column in {"logprob", "adjusted", "sampled", "entropy"}, cell
                assert math.isfinite(float(cell))


def test_json_holds_no_word_that_json_lacks() -> None:
    def refuse(word: str) -> object:
        raise AssertionError(word)

    document = "".join(chats_as_json([examples.CHAT], examples.tokens_of))

    json.loads(document, parse_constant=refuse)


def test_a_text_whose_tokens_are_unknown_gets_none() -> None:
    unknown = TokenRecords((TokenPiece(NO_TOKEN, b"hi", "hi", 0, 2),), (None,))

    document = "".join(chats_as_json([examples.CHAT], lambda _: unknown))

    assert list(import_chats(io.BytesIO(document.encode()))) == [ImportedChat(examples.CHAT, {})]


def test_an_answer_that_was_streaming_is_interrupted_when_it_comes_back() -> None:
    streaming = Answer(msgspec.structs.replace(examples.SECOND, state=TurnState.STREAMING), examples.RECORDS)

    assert answer_of_json("".join(answer_as_json(streaming))).turn.state is TurnState.INTERRUPTED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1]",
        '{"format":"candor-chats","version":1,"chats":[]}',
        '{"format":"candor-answer","version":1}',
        "\0",
    ],
)
def test_what_is_no_answer_is_a_problem(text: str) -> None:
    for read in (answer_of_json, answer_of_csv):
        with pytest.raises(ProblemError, match="no conversations"):
            read(text)


@BOUNDED
@given(st.data())
def test_damage_anywhere_in_a_table_is_a_problem_or_another_answer(data: st.DataObject) -> None:
    table = "".join(answer_as_csv(examples.ANSWER))
    place = data.draw(st.integers(0, len(table)))
    damaged = table[:place] + data.draw(st.text(max_size=3)) + table[place + data.draw(st.integers(0, 40)) :]
    try:
        answer_of_csv(damaged)
    except ProblemError as error:
        assert error.problem.code == "import_not_recognised"  # noqa: PT017 another answer is as good


def test_the_format_is_documented_field_by_field() -> None:
    described = (Path(__file__).parents[4] / "app/chats/exporting/FORMAT.md").read_text()
    shapes = (Chat, Turn, GenerationResult, Problem, TokenRecord, MeasureRecord, CandidateRecord)
    fields = [field.encode_name for shape in shapes for field in msgspec.structs.fields(shape)]
    document = json.loads("".join(chats_as_json([], examples.tokens_of)))
    names = [*document, *fields, "answer", "tokens", *COLUMNS]

    assert [name for name in names if f"`{name}`" not in described] == []


def test_an_answer_without_measurements_differs_from_one_with_empty_ones() -> None:
    piece = TokenPiece(1, b"a", "a", 0, 1)
    for measured in (None, TokenLogprobs(), TokenLogprobs(top=())):
        answer = Answer(
            msgspec.structs.replace(examples.SECOND, text="a", thinking=""), TokenRecords((piece,), (measured,))
        )
        assert answer_of_csv("".join(answer_as_csv(answer))) == answer
        assert answer_of_json("".join(answer_as_json(answer))) == answer


def test_a_role_of_its_own_is_kept() -> None:
    answer = Answer(msgspec.structs.replace(examples.QUESTION, role=Role.SYSTEM))

    assert answer_of_csv("".join(answer_as_csv(answer))) == answer


def test_settings_with_numbers_that_json_lacks_come_back() -> None:
    """As a turn may hold them: infinite biases by token id."""
    chosen = SamplingSettings(seed=2**63, logit_bias={5: -math.inf, 6: 0.5}, temperature=0.1)

    stored = json.loads(msgspec.json.encode(writable(msgspec.to_builtins(chosen))))

    assert msgspec.convert(stored, SamplingSettings, strict=False, str_keys=True) == chosen


def test_an_exported_field_is_never_shortened_to_a_default_that_it_is_not() -> None:
    untold = Turn(id=TurnId(1), parent=None, role=Role.USER, text="")

    assert fields_record(untold) == {"id": 1, "parent": None, "role": "user", "text": ""}
    assert fields_record(Chat(id=ChatId(1))) == {"id": 1}


def test_a_long_answer_is_written_in_pieces_and_comes_back() -> None:
    count = 1_000
    pieces = tuple(TokenPiece(number, b"a", "a", number, number + 1) for number in range(count))
    turn = msgspec.structs.replace(examples.SECOND, text="a" * count, thinking="")
    answer = Answer(turn, TokenRecords(pieces, (TokenLogprobs(-0.5),) * count))

    for write, read in ((answer_as_json, answer_of_json), (answer_as_csv, answer_of_csv)):
        written = list(write(answer))
        assert read("".join(written)) == answer
        assert max(map(len, written)) < 30_000

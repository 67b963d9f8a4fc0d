"""What was exported comes back exactly."""

import csv
import io
import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chats.exporting.answer import Answer
from app.chats.exporting.cells import cell_text, safe_cell
from app.chats.exporting.csv_table import COLUMNS, answer_as_csv
from app.chats.exporting.json_file import answer_as_json, chats_as_json
from app.chats.importing.own_answers import answer_of_csv, answer_of_json
from app.chats.importing.reading import import_chats
from app.chats.importing.values import ImportedChat
from app.chats.rows import NO_TOKEN
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, TurnState
from engine.contracts import ProblemError, Role, TokenLogprobs, TokenPiece
from tests.app.chats.exporting import examples


def exactly(value: object) -> str:
    """Equal only for equal values, where a NaN equals another and -0.0 is not 0.0."""
    return repr(value)


@given(st.lists(examples.chats(), max_size=3), st.data())
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


@given(examples.answers)
def test_an_answer_comes_back_from_json(answer: Answer) -> None:
    assert exactly(answer_of_json(answer_as_json(answer))) == exactly(answer)


@given(examples.answers)
def test_an_answer_comes_back_from_csv(answer: Answer) -> None:
    assert exactly(answer_of_csv(answer_as_csv(answer))) == exactly(answer)


def test_a_long_answer_without_known_tokens_comes_back_from_csv() -> None:
    answer = Answer(msgspec.structs.replace(examples.QUESTION, text="word, " * 100_000))
    limit = csv.field_size_limit()

    assert answer_of_csv(answer_as_csv(answer)) == answer
    assert csv.field_size_limit() == limit


@given(examples.texts | st.text())
def test_a_cell_gives_back_its_text(text: str) -> None:
    assert cell_text(safe_cell(text)) == text


@given(examples.answers)
@settings(max_examples=50)
def test_no_cell_of_text_is_a_formula(answer: Answer) -> None:
    for row in csv.DictReader(io.StringIO(answer_as_csv(answer), newline="")):
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

    assert answer_of_json(answer_as_json(streaming)).turn.state is TurnState.INTERRUPTED


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


@given(st.data())
@settings(max_examples=200)
def test_damage_anywhere_in_a_table_is_a_problem_or_another_answer(data: st.DataObject) -> None:
    table = answer_as_csv(examples.ANSWER)
    place = data.draw(st.integers(0, len(table)))
    damaged = table[:place] + data.draw(st.text(max_size=3)) + table[place + data.draw(st.integers(0, 40)) :]
    try:
        answer_of_csv(damaged)
    except ProblemError as error:
        assert error.problem.code == "import_not_recognised"  # noqa: PT017 another answer is as good


def test_the_format_is_documented_field_by_field() -> None:
    described = (Path(__file__).parents[4] / "app/chats/exporting/FORMAT.md").read_text()
    document = json.loads("".join(chats_as_json([examples.CHAT], examples.tokens_of)))
    (chat,) = document["chats"]
    token = next(token for token in chat["turns"][-1]["tokens"] if token.get("logprobs", {}).get("rank") is not None)
    names = [*document, *chat, *chat["turns"][-1], *token, *token["logprobs"], *token["logprobs"]["top"][0], *COLUMNS]

    assert [name for name in names if f"`{name}`" not in described] == []


def test_an_answer_without_measurements_differs_from_one_with_empty_ones() -> None:
    piece = TokenPiece(1, b"a", "a", 0, 1)
    for measured in (None, TokenLogprobs(), TokenLogprobs(top=())):
        answer = Answer(
            msgspec.structs.replace(examples.SECOND, text="a", thinking=""), TokenRecords((piece,), (measured,))
        )
        assert answer_of_csv(answer_as_csv(answer)) == answer
        assert answer_of_json(answer_as_json(answer)) == answer


def test_a_role_of_its_own_is_kept() -> None:
    answer = Answer(msgspec.structs.replace(examples.QUESTION, role=Role.SYSTEM))

    assert answer_of_csv(answer_as_csv(answer)) == answer

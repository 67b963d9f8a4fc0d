"""Small conversations, and any conversation there can be."""

import math

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from app.chats.exporting.answer import Answer
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState
from engine.contracts import (
    FinishReason,
    GenerationResult,
    Part,
    Problem,
    Removal,
    Role,
    TokenLogprobs,
    TokenPiece,
    TopLogprob,
)

RESULT = GenerationResult(
    finish_reason=FinishReason.END_OF_TURN,
    prompt_tokens=12,
    cached_tokens=4,
    generated_tokens=3,
    seed=1234567890123456789,
    first_token_seconds=0.25,
    decode_seconds=1.5,
)

QUESTION = Turn(id=TurnId(7), parent=None, role=Role.USER, text='Say "1 < 2", please.', created_ms=1_700_000_000_000)
FIRST = Turn(
    id=TurnId(8),
    parent=TurnId(7),
    role=Role.ASSISTANT,
    text="No.",
    state=TurnState.STOPPED,
    created_ms=1_700_000_001_000,
)
SECOND = Turn(
    id=TurnId(9),
    parent=TurnId(7),
    role=Role.ASSISTANT,
    text="1 < 2\n你",
    thinking="Easy.",
    model="/models/small model",
    created_ms=1_700_000_002_000,
    result=RESULT,
)
CHAT = Chat(
    id=ChatId(3),
    title="Less & more",
    model="/models/small model",
    draft="and now",
    head=SECOND.id,
    turns=(QUESTION, FIRST, SECOND),
)
RECORDS = TokenRecords(
    (
        TokenPiece(40, b"Easy.", "Easy.", 0, 5, Part.THINKING),
        TokenPiece(41, b"</think>", "", 5, 5, Part.THINKING, removed=Removal.MARKUP),
        TokenPiece(1, b"1", "1", 5, 6),
        TokenPiece(2, b" <", " <", 6, 8),
        TokenPiece(3, b" 2", " 2", 8, 10),
        TokenPiece(4, b"\n", "\n", 10, 11),
        TokenPiece(5, b"\xe4", "", 11, 12),
        TokenPiece(6, b"\xbd\xa0", "你", 11, 12),
        TokenPiece(0, b"<|im_end|>", "", 12, 12, special=True),
    ),
    (
        TokenLogprobs(0.0),
        None,
        TokenLogprobs(-0.25, (TopLogprob(1, -0.25, b"1"), TopLogprob(9, -2.5, b"=1+1"))),
        TokenLogprobs(
            -1.5,
            (
                TopLogprob(8, -0.5, b",", -0.75, -math.inf, "top_p"),
                TopLogprob(2, -1.5, b" <", -1.25, 0.0),
            ),
            -1.25,
            0.0,
            1,
            0.875,
        ),
        TokenLogprobs(-40.0, ()),
        TokenLogprobs(-math.inf),
        TokenLogprobs(math.nan),
        TokenLogprobs(-3.0),
        TokenLogprobs(None, None, None, None, None, 0.5),
    ),
)
ANSWER = Answer(SECOND, RECORDS)


def tokens_of(turn: TurnId) -> TokenRecords:
    """The tokens of `CHAT`."""
    return RECORDS if turn == SECOND.id else TokenRecords()


BOUNDED = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For tests on a machine that has other things to do."""

_numbers = st.none() | st.floats()
_counts = st.integers(0, 2**53)
_ids = st.integers(0, 2**53)

candidates = st.builds(
    TopLogprob,
    _ids,
    _numbers,
    st.binary(max_size=4),
    _numbers,
    _numbers,
    st.none() | st.sampled_from(["top_k", "min_p"]),
)
measures = st.builds(
    TokenLogprobs,
    _numbers,
    st.none() | st.lists(candidates, max_size=3).map(tuple),
    _numbers,
    _numbers,
    st.none() | _counts,
    _numbers,
)
texts = st.text(max_size=6) | st.sampled_from(
    [
        "=1+1",
        "+1",
        "-1",
        "@x",
        "'",
        "''=",
        "\t=",
        "\r\n",
        "\n",
        '"',
        '""',
        ",",
        ";",
        "\0",
        " =1",
        "＝1",
        "</span>",
        "&amp;",
    ]
)
pieces = st.builds(
    TokenPiece,
    _ids,
    st.binary(max_size=4),
    texts,
    _counts,
    _counts,
    st.sampled_from(Part),
    st.booleans(),
    st.none() | st.sampled_from(Removal),
)
records = st.lists(st.tuples(pieces, st.none() | measures), max_size=3).map(
    lambda tokens: TokenRecords(tuple(piece for piece, _ in tokens), tuple(measured for _, measured in tokens))
)
results = st.builds(
    GenerationResult,
    finish_reason=st.sampled_from(FinishReason),
    prompt_tokens=_counts,
    cached_tokens=_counts,
    generated_tokens=_counts,
    seed=st.integers(0, 2**64 - 1),
    first_token_seconds=st.floats(),
    decode_seconds=st.floats(),
)
turns = st.builds(
    Turn,
    id=st.integers(1, 2**53).map(TurnId),
    parent=st.none(),
    role=st.sampled_from(Role),
    text=texts | st.text(),
    thinking=st.just("") | texts,
    state=st.sampled_from([state for state in TurnState if state is not TurnState.STREAMING]),
    model=st.none() | texts,
    created_ms=st.integers(0, 2**53 - 1),
    result=st.none() | results,
    problem=st.none() | st.builds(Problem, code=texts, sentence=texts, remedy=texts),
)
answers = st.builds(Answer, turns, records)


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    """Any tree, parents first."""
    grown: list[Turn] = []
    for turn in draw(st.lists(turns, max_size=4, unique_by=lambda turn: turn.id)):
        parent = draw(st.none() | st.sampled_from([each.id for each in grown])) if grown else None
        fields = {name: getattr(turn, name) for name in turn.__struct_fields__}
        grown.append(Turn(**fields | {"parent": parent}))
    return Chat(
        id=ChatId(draw(st.integers(0, 2**53))),
        title=draw(texts),
        model=draw(st.none() | texts),
        draft=draw(texts),
        head=draw(st.none() | st.sampled_from([turn.id for turn in grown])) if grown else None,
        turns=tuple(grown),
    )

"""Token records give back what was put in, in little room."""

import math
import random

import pytest

from app.chats.token_records import TokenRecords, decode_tokens, encode_tokens
from engine.contracts import Part, TokenLogprobs, TokenPiece, TopLogprob
from tests.app.chats.examples import STRANGE, float32, tokens


@pytest.mark.parametrize(
    "records", [tokens("Once", " upon"), STRANGE, TokenRecords()], ids=["plain", "strange", "empty"]
)
def test_records_come_back_exactly(records: TokenRecords) -> None:
    assert decode_tokens(encode_tokens(records), records.text) == records


def test_not_a_number_stays_not_a_number() -> None:
    records = TokenRecords((TokenPiece(1, b"a", "a", 0, 1),), (TokenLogprobs(math.nan),))

    (measured,) = decode_tokens(encode_tokens(records), "a").logprobs

    assert measured is not None
    assert measured.logprob is not None
    assert math.isnan(measured.logprob)


def test_ten_alternatives_cost_at_most_150_bytes_a_token() -> None:
    """Ids spread over a vocabulary of 49,000 and float32 noise, as a real model gives them; half a second of tokens."""
    draw = random.Random(7)
    vocabulary = [bytes(draw.choices(b"abcdefgh ", k=draw.randint(1, 8))) for _ in range(49_000)]

    def candidate() -> TopLogprob:
        id_ = min(int(draw.expovariate(1 / 3000)), 48_999)
        return TopLogprob(id_, float32(-draw.expovariate(0.3)), vocabulary[id_])

    pieces, logprobs, offset = [], [], 0
    for _ in range(10):
        chosen = candidate()
        text = chosen.data.decode()
        pieces.append(TokenPiece(chosen.id, chosen.data, text, offset, offset + len(text)))
        logprobs.append(TokenLogprobs(chosen.logprob, tuple(candidate() for _ in range(10))))
        offset += len(text)

    assert len(encode_tokens(TokenRecords(tuple(pieces), tuple(logprobs)))) / 10 < 150


@pytest.mark.parametrize("damage", [b"", b"\0" * 64, b"half"], ids=["nothing", "zeros", "half"])
def test_a_damaged_record_is_a_value_error(damage: bytes) -> None:
    record = encode_tokens(STRANGE)
    damaged = record[: len(record) // 2] if damage == b"half" else damage

    with pytest.raises(ValueError, match="damaged"):
        decode_tokens(damaged, STRANGE.text)


def test_every_flipped_byte_is_a_value_error_or_changes_nothing() -> None:
    record = encode_tokens(STRANGE)
    for place in range(len(record)):
        flipped = record[:place] + bytes([record[place] ^ 0x55]) + record[place + 1 :]
        try:
            assert decode_tokens(flipped, STRANGE.text) == STRANGE
        except ValueError:
            continue


def test_a_record_of_another_text_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        decode_tokens(encode_tokens(tokens("Once")), "Once upon")


def test_records_fall_into_the_parts_of_the_message() -> None:
    thought, said = tokens("hm", part=Part.THINKING), tokens("yes", start=2)
    both = TokenRecords(thought.pieces + said.pieces, thought.logprobs + said.logprobs)

    assert list(both.by_part()) == [(Part.THINKING, thought), (Part.ANSWER, said)]

"""Conversations as JSON that loses nothing."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from app.chats.exporting.answer import Answer, TokensOf, batches, known_tokens
from app.chats.exporting.schema import ANSWER_FORMAT, CHATS_FORMAT, VERSION, fields_record, token_records
from app.chats.tree import Chat


def chats_as_json(chats: Iterable[Chat], tokens_of: TokensOf) -> Iterator[str]:
    """One JSON document in pieces; chats and their turns' tokens are asked for one at a time."""
    yield f'{{"format":"{CHATS_FORMAT}","version":{VERSION},"chats":['
    for place, chat in enumerate(chats):
        yield ",\n" if place else "\n"
        yield from _chat(chat, tokens_of)
    yield "\n]}\n"


def answer_as_json(answer: Answer) -> Iterator[str]:
    """One JSON document in pieces, some hundreds of tokens at a time."""
    yield f'{{"format":"{ANSWER_FORMAT}","version":{VERSION},"answer":'
    yield from _turn(answer)
    yield "}\n"


def _chat(chat: Chat, tokens_of: TokensOf) -> Iterator[str]:
    head = fields_record(replace(chat, turns=()))
    yield f'{_encoded(head)[:-1]},"turns":['
    for place, turn in enumerate(chat.turns):
        yield ",\n" if place else "\n"
        yield from _turn(Answer(turn, tokens_of(turn.id)))
    yield "]}"


def _turn(answer: Answer) -> Iterator[str]:
    head, records = _encoded(fields_record(answer.turn)), known_tokens(answer.records)
    if not records.pieces:
        yield head
        return
    yield f'{head[:-1]},"tokens":['
    for place, batch in enumerate(batches(records)):
        yield ("," if place else "") + _encoded(token_records(batch))[1:-1]
    yield "]}"


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()

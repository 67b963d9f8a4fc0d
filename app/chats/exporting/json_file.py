"""Conversations as JSON that loses nothing."""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from app.chats.exporting.answer import Answer, TokensOf
from app.chats.exporting.numbers import writable
from app.chats.exporting.schema import ANSWER_FORMAT, CHATS_FORMAT, VERSION, turn_record
from app.chats.tree import Chat


def chats_as_json(chats: Iterable[Chat], tokens_of: TokensOf) -> Iterator[str]:
    """One JSON document in pieces, a turn at a time: the memory needed is that of the biggest chat's text."""
    yield f'{{"format":"{CHATS_FORMAT}","version":{VERSION},"chats":['
    for place, chat in enumerate(chats):
        yield ",\n" if place else "\n"
        yield from _chat(chat, tokens_of)
    yield "\n]}\n"


def answer_as_json(answer: Answer) -> str:
    return _encoded({"format": ANSWER_FORMAT, "version": VERSION, "answer": turn_record(answer)}) + "\n"


def _chat(chat: Chat, tokens_of: TokensOf) -> Iterator[str]:
    head = writable(msgspec.to_builtins(replace(chat, turns=())))
    del head["turns"]
    yield f'{_encoded(head)[:-1]},"turns":['
    for place, turn in enumerate(chat.turns):
        yield ",\n" if place else "\n"
        yield _encoded(turn_record(Answer(turn, tokens_of(turn.id))))
    yield "]}"


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()

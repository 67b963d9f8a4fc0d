"""Conversations of Candor's own JSON, each read a token at a time."""

from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from app.chats.exporting.answer import Answer
from app.chats.exporting.schema import TokenRecord, tokens_of_records, turn_of_record
from app.chats.importing.growth import Entry, rooted, shown_at
from app.chats.importing.json_stream import JsonStream
from app.chats.importing.remarks import UNREADABLE, cut_messages, damaged_messages, damaged_tokens
from app.chats.importing.values import Found, ImportedChat
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, Turn, TurnId, TurnState

_LATEST_MS = 2**53


def read_own_chat(stream: JsonStream) -> Found:
    """The chat that comes next. Raises what the stream raises.

    A damaged turn is left out and its answers take its place; one with damaged tokens keeps its text.
    """
    if stream.peek() != "{":
        stream.value()
        return Found(None, (UNREADABLE,))
    head: dict[str, object] = {}
    turns: list[_ReadTurn] = []
    for name in stream.members():
        if name == "turns" and stream.peek() == "[":
            turns += [_read_turn(stream) for _ in stream.elements()]
        else:
            head[name] = stream.value()
    try:
        chat = msgspec.convert({**head, "turns": ()}, Chat, strict=False, str_keys=True)
    except msgspec.MsgspecError:
        return Found(None, (UNREADABLE,))
    return _assembled(chat, turns)


def read_own_answer(stream: JsonStream) -> Answer:
    """The turn with its tokens that comes next. Raises `ValueError` when it is damaged, and what the stream raises."""
    read = _read_turn(stream)
    if read.answer is None or read.lost_tokens:
        raise ValueError("damaged answer")
    return read.answer


class _ReadTurn(NamedTuple):
    key: str
    parent: str | None
    answer: Answer | None
    lost_tokens: bool = False


def _read_turn(stream: JsonStream) -> _ReadTurn:
    fields: dict[str, object] = {}
    records: TokenRecords | None = TokenRecords()
    if stream.peek() != "{":
        fields["damaged"] = stream.value()
    else:
        for name in stream.members():
            if name == "tokens" and stream.peek() == "[":
                records = _read_tokens(stream)
            else:
                fields[name] = stream.value()
    turn = _turn(fields)
    if turn is None:
        return _ReadTurn(str(fields.get("id")), _key(fields.get("parent")), None)
    lost_tokens = records is None or "tokens" in fields
    return _ReadTurn(str(turn.id), _key(turn.parent), Answer(turn, records or TokenRecords()), lost_tokens)


def _turn(fields: dict[str, object]) -> Turn | None:
    try:
        turn = turn_of_record(fields)
    except msgspec.MsgspecError:
        return None
    if not 0 <= turn.created_ms < _LATEST_MS:
        return None
    # Nobody will ever go on with an answer that was streaming.
    return replace(turn, state=TurnState.INTERRUPTED) if turn.state is TurnState.STREAMING else turn


def _read_tokens(stream: JsonStream) -> TokenRecords | None:
    """All tokens of the array that comes next, or None where one is damaged."""
    elements = stream.elements()
    try:
        return tokens_of_records(msgspec.convert(stream.value(), TokenRecord) for _ in elements)
    except (msgspec.MsgspecError, ValueError):
        for _ in elements:
            stream.value()
        return None


def _assembled(chat: Chat, read: list[_ReadTurn]) -> Found:
    answers: dict[str | None, Answer] = {}
    for each in read:
        if each.answer is not None:
            answers.setdefault(each.key, each.answer)
    ordered, cut = rooted(Entry(each.key, each.parent, each.answer and each.answer.turn) for each in read)
    shown = shown_at(ordered)

    def shown_turn(key: str | None) -> TurnId | None:
        answer = answers.get(shown.get(key))
        return None if answer is None else answer.turn.id

    turns = tuple(replace(entry.turn, parent=shown_turn(entry.parent)) for entry in ordered if entry.turn is not None)
    records = {turn.id: answers[str(turn.id)].records for turn in turns}
    tokens = {turn: each for turn, each in records.items() if each.pieces}
    last = turns[-1].id if turns else None
    head = None if chat.head is None else shown_turn(_key(chat.head)) or last
    remarks = (
        *damaged_messages(sum(each.answer is None for each in read) + len(read) - len(ordered)),
        *damaged_tokens(sum(each.lost_tokens for each in read)),
        *cut_messages(cut),
    )
    return Found(ImportedChat(replace(chat, head=head, turns=turns), tokens), remarks)


def _key(parent: object) -> str | None:
    return None if parent is None else str(parent)

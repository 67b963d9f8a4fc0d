"""Conversations of Open WebUI's exports of one or all chats.

The tree is `history.messages`, an object of messages with `parentId` and `childrenIds`; `history.currentId` ends the
branch on screen. Old exports have only a list of `messages`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from app.chats.importing.growth import Entry, grown, in_order_of_children
from app.chats.importing.open_webui_content import Content, content_of
from app.chats.importing.remarks import NO_MESSAGES, cut_messages, damaged_messages, missing_parts
from app.chats.importing.untrusted import fields_of, items_of, key_of, keys_of, ms_of, name_of, text_of, title_of
from app.chats.importing.values import Found, ImportedChat
from app.chats.tree import Chat, ChatId, Turn, TurnId, TurnState
from engine.contracts import Role

_SYSTEM_KEY = ""
"""No message has it: a parent without a name is none."""


def is_open_webui(record: Mapping[str, object]) -> bool:
    return isinstance(_chat(record).get("history"), dict) or "chat" in record


def read_open_webui(record: Mapping[str, object]) -> Found:
    """A system prompt becomes the first message."""
    chat = _chat(record)
    messages = _messages(chat)
    order = in_order_of_children({key: keys_of(fields_of(each).get("childrenIds")) for key, each in messages.items()})
    read = {key: _message(messages[key]) for key in order}
    parents = {key: key_of(fields_of(messages[key]).get("parentId")) or _SYSTEM_KEY for key in order}
    tree = grown([_system_entry(chat), *(Entry(key, parents[key], read[key].turn) for key in order)])
    remarks = (
        *damaged_messages(sum(message.is_damaged for message in read.values())),
        *cut_messages(tree.cut),
        *missing_parts(kind for message in read.values() for kind in message.missing),
    )
    if not any(turn.role is not Role.SYSTEM for turn in tree.turns):
        return Found(None, (*remarks, NO_MESSAGES))
    head = tree.places.get(key_of(fields_of(chat.get("history")).get("currentId"))) or tree.turns[-1].id
    title = title_of(chat.get("title")) or title_of(record.get("title"))
    return Found(ImportedChat(Chat(id=ChatId(0), title=title, head=head, turns=tree.turns)), remarks)


class _Message(NamedTuple):
    turn: Turn | None = None
    missing: tuple[str, ...] = ()
    is_damaged: bool = False


def _chat(record: Mapping[str, object]) -> Mapping[str, object]:
    """An export of all chats wraps each in a row of the database."""
    return fields_of(record["chat"]) if "chat" in record else record


def _messages(chat: Mapping[str, object]) -> Mapping[str, object]:
    tree = fields_of(fields_of(chat.get("history")).get("messages"))
    if tree:
        return tree
    line = items_of(chat.get("messages"))
    return {
        str(place): {**fields_of(each), "parentId": str(place - 1) if place else None, "childrenIds": [str(place + 1)]}
        for place, each in enumerate(line)
    }


def _system_entry(chat: Mapping[str, object]) -> Entry:
    prompt = text_of(fields_of(chat.get("params")).get("system"))
    turn = Turn(id=TurnId(0), parent=None, role=Role.SYSTEM, text=prompt)
    return Entry(_SYSTEM_KEY, None, turn if prompt.strip() else None)


def _message(message: object) -> _Message:
    fields = fields_of(message)
    role = text_of(fields.get("role"))
    if role not in set(Role):
        return _Message(is_damaged=True)
    content = content_of(fields)
    is_failed = bool(fields.get("error"))
    if not content.text.strip() and not content.thinking.strip() and not is_failed:
        return _Message()
    return _Message(_turn(Role(role), content, fields, is_failed), tuple(content.missing))


def _turn(role: Role, content: Content, message: Mapping[str, object], is_failed: bool) -> Turn:
    return Turn(
        id=TurnId(0),
        parent=None,
        role=role,
        text=content.text,
        thinking=content.thinking,
        state=TurnState.FAILED if is_failed else TurnState.COMPLETE,
        model=name_of(message.get("model")) if role is Role.ASSISTANT else None,
        created_ms=ms_of(message.get("timestamp")),
    )

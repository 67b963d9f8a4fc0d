"""Conversations of ChatGPT's `conversations.json`.

Each has a `mapping` of nodes with `parent` and `children`, and the `current_node` that ends the branch on screen.
"""

from collections.abc import Mapping
from typing import NamedTuple

from app.chats.importing.chatgpt_content import Content, content_of
from app.chats.importing.growth import Entry, grown, in_order_of_children
from app.chats.importing.remarks import NO_MESSAGES, cut_messages, damaged_messages, missing_parts
from app.chats.importing.untrusted import fields_of, key_of, keys_of, ms_of, name_of, text_of, title_of
from app.chats.importing.values import Found, ImportedChat
from app.chats.tree import Chat, ChatId, Turn, TurnId
from engine.contracts import Role

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.ASSISTANT, "system": Role.SYSTEM}
_HIDDEN_KINDS = {"user_editable_context", "model_editable_context"}


def is_chatgpt(record: Mapping[str, object]) -> bool:
    return isinstance(record.get("mapping"), dict)


def read_chatgpt(record: Mapping[str, object]) -> Found:
    """Hidden messages, such as the custom instructions, are left out; their answers take their place in the tree."""
    nodes = fields_of(record.get("mapping"))
    messages = {key: _message(node) for key, node in nodes.items()}
    order = in_order_of_children({key: keys_of(fields_of(node).get("children")) for key, node in nodes.items()})
    tree = grown(Entry(key, key_of(fields_of(nodes[key]).get("parent")), messages[key].turn) for key in order)
    remarks = (
        *damaged_messages(sum(message.is_damaged for message in messages.values())),
        *cut_messages(tree.cut),
        *missing_parts(kind for message in messages.values() for kind in message.missing),
    )
    if not tree.turns:
        return Found(None, (*remarks, NO_MESSAGES))
    head = tree.places.get(key_of(record.get("current_node"))) or tree.turns[-1].id
    title = title_of(record.get("title"))
    return Found(ImportedChat(Chat(id=ChatId(0), title=title, head=head, turns=tree.turns)), remarks)


class _Message(NamedTuple):
    turn: Turn | None = None
    missing: tuple[str, ...] = ()
    is_damaged: bool = False


def _message(node: object) -> _Message:
    message = fields_of(node).get("message")
    if isinstance(node, dict) and message is None:
        return _Message()
    fields, role = fields_of(message), text_of(fields_of(fields_of(message).get("author")).get("role"))
    if role not in _ROLES or not isinstance(fields.get("content"), dict):
        return _Message(is_damaged=True)
    if _is_hidden(fields):
        return _Message()
    content = content_of(fields_of(fields["content"]), is_tool=role == "tool")
    if not content.text.strip() and not content.thinking.strip():
        return _Message()
    return _Message(_turn(_ROLES[role], content, fields), tuple(content.missing))


def _is_hidden(message: Mapping[str, object]) -> bool:
    kind = fields_of(message["content"]).get("content_type")
    is_marked = fields_of(message.get("metadata")).get("is_visually_hidden_from_conversation") is True
    return is_marked or message.get("weight") == 0 or kind in _HIDDEN_KINDS


def _turn(role: Role, content: Content, message: Mapping[str, object]) -> Turn:
    return Turn(
        id=TurnId(0),
        parent=None,
        role=role,
        text=content.text,
        thinking=content.thinking,
        model=name_of(fields_of(message.get("metadata")).get("model_slug")) if role is Role.ASSISTANT else None,
        created_ms=ms_of(message.get("create_time")),
    )

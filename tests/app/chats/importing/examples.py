"""Exports in the shapes that other programs write."""

import io
import json
from typing import Any

from app.chats.importing.reading import import_chats
from app.chats.importing.values import ImportedChat, Note
from app.chats.tree import Chat, Turn, branch_to
from engine.contracts import Role


def imported(document: object) -> list[ImportedChat | Note]:
    """What a file with this text, or with this JSON, gives."""
    text = document if isinstance(document, str) else json.dumps(document)
    return list(import_chats(io.BytesIO(text.encode())))


def chat_in(document: object) -> Chat:
    """The only conversation of a file without notes."""
    (found,) = imported(document)
    assert isinstance(found, ImportedChat), found
    return found.chat


def notes_in(document: object) -> list[str]:
    return [found.sentence for found in imported(document) if isinstance(found, Note)]


def said(turns: tuple[Turn, ...]) -> list[tuple[Role, str]]:
    return [(turn.role, turn.text) for turn in turns]


def branch(chat: Chat) -> list[str]:
    """The texts on screen."""
    return [turn.text for turn in branch_to(chat.turns, chat.head)]


def node(key: str, parent: str | None, children: list[str], message: dict[str, Any] | None = None) -> dict[str, Any]:
    """A node of a ChatGPT mapping."""
    return {"id": key, "message": message, "parent": parent, "children": children}


def message(role: str, content: dict[str, Any] | str, **fields: Any) -> dict[str, Any]:
    """A ChatGPT message; a string is a text."""
    spoken = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    return {
        "id": "m",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": 1700000000.5,
        "update_time": None,
        "content": spoken,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
        "recipient": "all",
        "channel": None,
    } | fields


def chatgpt(*nodes: dict[str, Any], current: str | None) -> dict[str, Any]:
    """One conversation of a `conversations.json`."""
    return {
        "title": "A talk",
        "create_time": 1700000000.5,
        "update_time": 1700000009.5,
        "mapping": {each["id"]: each for each in nodes},
        "moderation_results": [],
        "current_node": current,
        "conversation_id": "c",
        "default_model_slug": "gpt-4o",
        "id": "c",
    }


def chatgpt_line(*messages: dict[str, Any]) -> dict[str, Any]:
    """A conversation without branches below an empty root."""
    keys = ["root", *(f"n{place}" for place in range(len(messages)))]
    nodes = [
        node(
            key, keys[place - 1] if place else None, keys[place + 1 : place + 2], messages[place - 1] if place else None
        )
        for place, key in enumerate(keys)
    ]
    return chatgpt(*nodes, current=keys[-1])


def lm_user(text: str) -> dict[str, Any]:
    """A user's version of an LM Studio message."""
    return {"type": "singleStep", "role": "user", "content": [{"type": "text", "text": text}]}


def lm_answer(text: str, thinking: str = "") -> dict[str, Any]:
    """A model's version of an LM Studio message."""
    thought = {
        "type": "contentBlock",
        "stepIdentifier": "1700000001000-0.5",
        "style": {"type": "thinking", "ended": True, "title": "Thought for 2 seconds"},
        "content": [{"type": "text", "text": thinking, "fromDraftModel": False, "isStructural": False}],
    }
    spoken = {
        "type": "contentBlock",
        "stepIdentifier": "1700000002000-0.5",
        "content": [{"type": "text", "text": text, "fromDraftModel": False, "isStructural": False}],
        "defaultShouldIncludeInContext": True,
        "shouldIncludeInContext": True,
        "genInfo": {"identifier": "qwen3-4b", "stats": {"stopReason": "eosFound", "predictedTokensCount": 3}},
    }
    return {
        "type": "multiStep",
        "role": "assistant",
        "senderInfo": {"senderName": "qwen3-4b"},
        "steps": [*([thought] if thinking else []), spoken, {"type": "debugInfoBlock", "debugInfo": "Conversation..."}],
    }


def lm_studio(*messages: tuple[int, list[dict[str, Any]]], **fields: Any) -> dict[str, Any]:
    """A `.conversation.json`; each message is the selected place with its versions."""
    return {
        "name": "A talk",
        "pinned": False,
        "createdAt": 1700000000000,
        "preset": "",
        "tokenCount": 12,
        "systemPrompt": "",
        "messages": [{"versions": versions, "currentlySelected": place} for place, versions in messages],
        "usePerChatPredictionConfig": True,
        "perChatPredictionConfig": {"fields": []},
        "clientInput": "",
        "lastUsedModel": {"identifier": "qwen3-4b"},
        "notes": [],
    } | fields


def webui_message(
    key: str, parent: str | None, children: list[str], role: str, content: Any, **fields: Any
) -> dict[str, Any]:
    """A message of an Open WebUI chat."""
    model = {"model": "llama3:8b", "modelName": "llama3:8b", "done": True} if role == "assistant" else {}
    return (
        {
            "id": key,
            "parentId": parent,
            "childrenIds": children,
            "role": role,
            "content": content,
            "timestamp": 1700000000,
        }
        | model
        | fields
    )


def webui(*messages: dict[str, Any], current: str | None, **fields: Any) -> dict[str, Any]:
    """A row of an export of all chats."""
    return {
        "id": "row",
        "user_id": "user",
        "title": "A talk",
        "chat": {
            "id": "",
            "title": "A talk",
            "models": ["llama3:8b"],
            "params": {},
            "history": {"messages": {each["id"]: each for each in messages}, "currentId": current},
            "messages": [],
            "tags": [],
            "timestamp": 1700000000000,
            "files": [],
        }
        | fields,
        "updated_at": 1700000009,
        "created_at": 1700000000,
        "share_id": None,
        "archived": False,
        "pinned": False,
        "meta": {},
        "folder_id": None,
    }

"""Conversations of LM Studio's `.conversation.json` files.

Each is a list of messages with `versions`; the next message follows the one that is `currentlySelected`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from app.chats.importing.growth import Entry, grown
from app.chats.importing.remarks import NO_MESSAGES, damaged_messages, missing_parts
from app.chats.importing.untrusted import fields_of, items_of, ms_of, name_of, text_of, title_of, word_of
from app.chats.importing.values import Found, ImportedChat, left_out
from app.chats.tree import Chat, ChatId, Turn, TurnId
from engine.contracts import Role

_SYSTEM_KEY = "system"
_SYSTEM_FIELD = "llm.prediction.systemPrompt"
_SILENT_STEPS = {"debugInfoBlock"}


def is_lm_studio(record: Mapping[str, object]) -> bool:
    messages = items_of(record.get("messages"))
    return any("versions" in fields_of(message) for message in messages)


def read_lm_studio(record: Mapping[str, object]) -> Found:
    """A system prompt becomes the first message."""
    versions = list(_versions(record))
    tree = grown(_system_entry(record) + [Entry(each.key, each.parent, each.turn) for each in versions])
    remarks = (
        *damaged_messages(sum(each.is_damaged for each in versions)),
        *missing_parts(kind for each in versions for kind in each.missing),
    )
    if not any(turn.role is not Role.SYSTEM for turn in tree.turns):
        return Found(None, (*remarks, NO_MESSAGES))
    head = tree.places[next(each.key for each in reversed(versions) if each.is_selected)]
    chat = Chat(id=ChatId(0), title=title_of(record.get("name")), head=head, turns=tree.turns)
    return Found(ImportedChat(chat), remarks)


class _Said(NamedTuple):
    text: str
    thinking: str = ""
    missing: Sequence[str] = ()


class _Version(NamedTuple):
    key: str
    parent: str | None
    is_selected: bool
    turn: Turn | None = None
    missing: Sequence[str] = ()
    is_damaged: bool = False


def _system_entry(record: Mapping[str, object]) -> list[Entry]:
    settings = items_of(fields_of(record.get("perChatPredictionConfig")).get("fields"))
    own = [fields_of(each).get("value") for each in settings if fields_of(each).get("key") == _SYSTEM_FIELD]
    prompt = next(filter(None, map(text_of, [*own, record.get("systemPrompt")])), "")
    turn = Turn(id=TurnId(0), parent=None, role=Role.SYSTEM, text=prompt)
    return [Entry(_SYSTEM_KEY, None, turn if prompt else None)]


def _versions(record: Mapping[str, object]) -> Iterator[_Version]:
    parent = _SYSTEM_KEY
    for place, message in enumerate(items_of(record.get("messages"))):
        versions = items_of(fields_of(message).get("versions"))
        selected = _selected(fields_of(message).get("currentlySelected"), len(versions))
        for number, version in enumerate(versions or [None]):
            yield _version(f"{place}/{number}", parent, number == selected, fields_of(version))
        parent = f"{place}/{selected}"


def _selected(index: object, count: int) -> int:
    return index if isinstance(index, int) and 0 <= index < count else 0


def _version(key: str, parent: str, is_selected: bool, version: Mapping[str, object]) -> _Version:
    role = text_of(version.get("role"))
    if role not in set(Role):
        return _Version(key, parent, is_selected, is_damaged=True)
    said = _said(version)
    if not said.text.strip() and not said.thinking.strip():
        return _Version(key, parent, is_selected)
    turn = Turn(
        id=TurnId(0),
        parent=None,
        role=Role(role),
        text=said.text,
        thinking=said.thinking,
        model=name_of(fields_of(version.get("senderInfo")).get("senderName")) if role == Role.ASSISTANT else None,
        created_ms=_written_at(version),
    )
    return _Version(key, parent, is_selected, turn, said.missing)


def _said(version: Mapping[str, object]) -> _Said:
    """A user's message has `content`, a model's has `steps`, some of which are its thinking."""
    steps = items_of(version.get("steps"))
    if not steps:
        return _contents(items_of(version.get("content")))
    parts = [_step(fields_of(step)) for step in steps]
    return _Said(
        "\n\n".join(part.text for part in parts if part.text),
        "\n\n".join(part.thinking for part in parts if part.thinking),
        [kind for part in parts for kind in part.missing],
    )


def _step(step: Mapping[str, object]) -> _Said:
    kind = step.get("type")
    if kind in _SILENT_STEPS:
        return _Said("")
    if kind != "contentBlock":
        return _Said(left_out(word_of(kind)), missing=(word_of(kind),))
    said = _contents(items_of(step.get("content")))
    is_thinking = fields_of(step.get("style")).get("type") == "thinking"
    return _Said("", said.text, said.missing) if is_thinking else said


def _contents(contents: Sequence[object]) -> _Said:
    texts, missing = [], []
    for content in contents:
        fields = fields_of(content)
        if fields.get("type") == "text":
            texts.append(text_of(fields.get("text")))
        else:
            missing.append(word_of(fields.get("type")))
            texts.append(left_out(missing[-1]))
    return _Said("".join(texts), missing=missing)


def _written_at(version: Mapping[str, object]) -> int:
    """A step's identifier begins with the moment it was written, in milliseconds."""
    for step in items_of(version.get("steps")):
        moment = text_of(fields_of(step).get("stepIdentifier")).partition("-")[0]
        if moment.isdecimal() and len(moment) < 20:
            return ms_of(int(moment))
    return 0

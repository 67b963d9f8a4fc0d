"""A tree of turns from messages that name their parents, however wrongly."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from app.chats.tree import Turn, TurnId
from engine.contracts import Role


class Entry(NamedTuple):
    """A message under the key that others name it by. Without a `turn` it is hidden, and its children take its place
    below its parent. The turn's own id and parent mean nothing."""

    key: str
    parent: str | None
    turn: Turn | None


class Growth(NamedTuple):
    """Turns with ids from 1, parents first, and where each entry ended up: hidden ones at the nearest turn above.

    `cut` counts the entries whose parent is missing or below themselves; they begin branches of their own.
    """

    turns: tuple[Turn, ...]
    places: Mapping[str | None, TurnId | None]
    cut: int


def grown(entries: Iterable[Entry]) -> Growth:
    """Siblings keep the order of `entries`. Of entries with one key the first counts.

    An assistant's message that alone follows an assistant's is the rest of the same answer: programs that call tools
    save one answer as several messages.
    """
    ordered, cut = rooted(entries)
    shown = shown_at(ordered)
    children = Counter(shown[entry.parent] for entry in ordered if entry.turn is not None)
    messages: list[list[Turn]] = []
    places: dict[str | None, TurnId | None] = {None: None}
    for entry in ordered:
        above = shown[entry.parent]
        place = places[above]
        if entry.turn is None:
            places[entry.key] = place
        elif place is not None and children[above] == 1 and _goes_on(messages[place - 1][0], entry.turn):
            messages[place - 1].append(entry.turn)
            places[entry.key] = place
        else:
            places[entry.key] = TurnId(len(messages) + 1)
            messages.append([replace(entry.turn, id=TurnId(len(messages) + 1), parent=place)])
    return Growth(tuple(map(_joined, messages)), places, cut)


def rooted(entries: Iterable[Entry]) -> tuple[list[Entry], int]:
    """Every entry once, after its parent, and how many had to begin a branch because that is impossible.

    The order is kept where it can be; of entries with one key the first counts; a ring is opened at the first met.
    """
    ordered: list[Entry] = []
    seen: set[str | None] = {None}
    cut = 0
    for entry in _parents_first(entries):
        is_cut = entry.parent not in seen
        ordered.append(entry._replace(parent=None) if is_cut else entry)
        cut += is_cut
        seen.add(entry.key)
    return ordered, cut


def shown_at(ordered: Iterable[Entry]) -> dict[str | None, str | None]:
    """For each entry the key of the message that is seen at its place: itself, or if it is hidden the nearest above."""
    shown: dict[str | None, str | None] = {None: None}
    for entry in ordered:
        shown[entry.key] = entry.key if entry.turn is not None else shown[entry.parent]
    return shown


def in_order_of_children(children: Mapping[str, Sequence[str]]) -> list[str]:
    """All keys, parents before their children, siblings as their parent lists them; those in a ring come last."""
    listed = {child for each in children.values() for child in each}
    order: dict[str, None] = {}
    for start in (*(key for key in children if key not in listed), *children):
        ahead = [start]
        while ahead:
            key = ahead.pop()
            if key in children and key not in order:
                order[key] = None
                ahead += reversed(children[key])
    return list(order)


def _parents_first(entries: Iterable[Entry]) -> list[Entry]:
    """Every entry once, after its parent unless that is missing or below it."""
    by_key: dict[str | None, Entry] = {}
    for entry in entries:
        by_key.setdefault(entry.key, entry)
    ordered: dict[str, Entry] = {}
    for entry in by_key.values():
        waiting: dict[str, Entry] = {}
        current: Entry | None = entry
        while current is not None and current.key not in ordered and current.key not in waiting:
            waiting[current.key] = current
            current = by_key.get(current.parent)
        ordered |= dict(reversed(waiting.items()))
    return list(ordered.values())


def _goes_on(answer: Turn, turn: Turn) -> bool:
    return answer.role is Role.ASSISTANT and turn.role is Role.ASSISTANT


def _joined(messages: Sequence[Turn]) -> Turn:
    """The first message with the words of all."""
    first, *rest = messages
    if not rest:
        return first
    return replace(
        first,
        text=_paragraphs(message.text for message in messages),
        thinking=_paragraphs(message.thinking for message in messages),
        model=next((message.model for message in messages if message.model), None),
        created_ms=next((message.created_ms for message in messages if message.created_ms), 0),
    )


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)

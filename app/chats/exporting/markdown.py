"""Conversations as Markdown."""

import re
from collections.abc import Iterable, Iterator

from app.chats.exporting.speakers import branch_with_details, speaker_of, title_line
from app.chats.tree import Chat, Turn

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)$")
_LINE_END = re.compile(r"\r\n?|\n")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!])")


def chats_as_markdown(chats: Iterable[Chat]) -> Iterator[str]:
    """The branch on screen of each chat, a turn at a time."""
    for place, chat in enumerate(chats):
        yield ("\n" if place else "") + f"# {_literal(title_line(chat))}\n"
        for turn, details in branch_with_details(chat):
            heading = speaker_of(turn) + (f" ({_literal(details)})" if details else "")
            yield f"\n## {heading}\n\n{_thinking(turn)}{_closed(turn.text)}\n"


def answer_as_markdown(turn: Turn) -> str:
    """What was said, which is Markdown already."""
    return turn.text


def _literal(text: str) -> str:
    """`text` so that no renderer finds markup in it."""
    return _MARKUP.sub(r"\\\1", text)


def _thinking(turn: Turn) -> str:
    """A quotation: whatever a thought leaves open ends with it."""
    if not turn.thinking:
        return ""
    lines = ["**Thinking**", "", *_lines(turn.thinking.strip())]
    return "".join(f"> {line}".rstrip() + "\n" for line in lines) + "\n"


def _closed(text: str) -> str:
    """`text` with a code fence that it left open closed, lest the rest of the file become code."""
    fence = _open_fence(text)
    text = text.strip("\n")
    return f"{text}\n{fence}" if fence else text


def _open_fence(text: str) -> str:
    """The fence that the last unfinished code block began with, or nothing (CommonMark 0.31, section 4.5)."""
    fence = ""
    for line in _lines(text):
        if (found := _FENCE.match(line)) is None:
            continue
        marks, rest = found.groups()
        if not fence:
            fence = marks
        elif marks.startswith(fence) and not rest.strip():
            fence = ""
    return fence


def _lines(text: str) -> list[str]:
    """Only what ends a line in Markdown, unlike `str.splitlines`."""
    return _LINE_END.split(text)

"""The content of one message of an Open WebUI export."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from app.chats.importing.untrusted import fields_of, items_of, text_of, word_of
from app.chats.importing.values import left_out

_OPENING = re.compile(r'<details type="([a-z_]+)"[^<>]*>\n?')
_CLOSING = "</details>"
_SUMMARY = re.compile(r"<summary>[^<]*</summary>\n?")
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


class Content(NamedTuple):
    """What a message says; `missing` names the kinds of which only a line in `text` is left."""

    text: str = ""
    thinking: str = ""
    missing: Sequence[str] = ()


def content_of(message: Mapping[str, object]) -> Content:
    """Thinking and the use of tools stand in the text, as blocks of `<details>` with a `type`."""
    texts: list[str] = []
    thoughts: list[str] = []
    missing: list[str] = []
    for kind, text in _blocks(_plain(message.get("content"), missing)):
        if kind == "reasoning":
            thoughts.append(text)
        elif kind:
            missing.append(kind)
            texts.append(left_out(kind))
        else:
            texts.append(text)
    for file in items_of(message.get("files")):
        missing.append(word_of(fields_of(file).get("type")))
        texts.append(left_out(missing[-1]))
    return Content("\n\n".join(filter(None, texts)), "\n\n".join(filter(None, thoughts)), missing)


def _plain(content: object, missing: list[str]) -> str:
    """The text of a content that is a text, or a list of parts."""
    texts = [text_of(content)]
    for part in map(fields_of, items_of(content)):
        if part.get("type") == "text":
            texts.append(text_of(part.get("text")))
        else:
            missing.append(word_of(part.get("type")))
            texts.append(left_out(missing[-1]))
    return "\n\n".join(filter(None, texts))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The text in order as (kind of block, its text); the kind is "" outside of blocks."""
    at = 0
    while (opening := _OPENING.search(text, at)) and (end := text.find(_CLOSING, opening.end())) >= 0:
        yield "", text[at : opening.start()].strip("\n")
        yield opening[1], _unquoted(text[opening.end() : end])
        at = end + len(_CLOSING)
    yield "", text[at:].strip("\n") if at else text


def _unquoted(block: str) -> str:
    """The lines of a block are written as a quotation, with what HTML would take for markup escaped."""
    return html.unescape(_QUOTE.sub("", _SUMMARY.sub("", block, count=1))).strip()

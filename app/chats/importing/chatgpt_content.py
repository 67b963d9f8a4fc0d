"""The content of one message of a ChatGPT export."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.chats.importing.untrusted import fields_of, items_of, text_of, word_of
from app.chats.importing.values import left_out

_BACKTICKS = re.compile("`+")


class Content(NamedTuple):
    """What a message says; `missing` names the kinds of which only a line in `text` is left."""

    text: str = ""
    thinking: str = ""
    missing: Sequence[str] = ()


def content_of(content: Mapping[str, object], is_tool: bool) -> Content:
    """`content` is the object with a `content_type`, of which an export knows more than are documented."""
    match content.get("content_type", "text"):
        case "text" | "multimodal_text":
            return _parts(items_of(content.get("parts")))
        case "code" | "execution_output":
            return Content(_fenced(text_of(content.get("text"))))
        case "thoughts":
            return Content(thinking=_thoughts(items_of(content.get("thoughts"))))
        case "reasoning_recap":
            # "Thought for 12 seconds".
            return Content()
        case _ if is_tool and not _says_anything(content):
            return Content()
        case kind:
            return Content(left_out(word_of(kind)), missing=(word_of(kind),))


def _parts(parts: Sequence[object]) -> Content:
    texts, missing = [], []
    for part in parts:
        fields = fields_of(part)
        text = text_of(part) or text_of(fields.get("text"))
        if not text and not isinstance(part, str):
            kind = word_of(fields.get("content_type"))
            missing.append(kind)
            text = left_out(kind)
        texts.append(text)
    return Content("\n\n".join(text for text in texts if text), missing=missing)


def _thoughts(thoughts: Sequence[object]) -> str:
    parts = [text_of(fields_of(thought).get(part)) for thought in thoughts for part in ("summary", "content")]
    return "\n\n".join(part for part in parts if part)


def _says_anything(content: Mapping[str, object]) -> bool:
    return any(text_of(value) for name, value in content.items() if name != "content_type")


def _fenced(text: str) -> str:
    """A code block that the text cannot end."""
    if not text:
        return ""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"

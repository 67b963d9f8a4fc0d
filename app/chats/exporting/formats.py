"""The formats that a conversation or an answer can be exported to."""

import enum
from collections.abc import Iterable, Iterator
from typing import Protocol

from app.chats.exporting.answer import Answer, TokensOf
from app.chats.exporting.csv_table import answer_as_csv
from app.chats.exporting.html_page import answer_as_html, chats_as_html
from app.chats.exporting.json_file import answer_as_json, chats_as_json
from app.chats.exporting.markdown import answer_as_markdown, chats_as_markdown
from app.chats.exporting.plain_text import answer_as_text, chats_as_text
from app.chats.store import ChatSummary
from app.chats.tree import Chat, ChatId
from engine.contracts import ProblemError


class ChatFormat(enum.StrEnum):
    """What chats can be written as; the value is the file name's suffix. Only JSON keeps everything."""

    MARKDOWN = "md"
    JSON = "json"
    HTML = "html"
    TEXT = "txt"


class AnswerFormat(enum.StrEnum):
    """What one answer can be written as; the value is the file name's suffix. JSON and CSV keep everything."""

    MARKDOWN = "md"
    JSON = "json"
    CSV = "csv"
    HTML = "html"
    TEXT = "txt"


class ChatShelf(Protocol):
    """Where stored chats are read from; a `ChatStore` is one."""

    def list_chats(self) -> tuple[ChatSummary, ...]: ...

    def read_chat(self, chat: ChatId) -> Chat: ...


def all_chats(shelf: ChatShelf) -> Iterator[Chat]:
    """Every chat, the last changed first, read one at a time; one that is deleted meanwhile is left out."""
    for summary in shelf.list_chats():
        try:
            yield shelf.read_chat(summary.id)
        except ProblemError as error:
            if error.problem.code != "chat_missing":
                raise


def export_chats(chat_format: ChatFormat, chats: Iterable[Chat], tokens_of: TokensOf) -> Iterator[str]:
    """The file's text in pieces of at most some hundreds of tokens; chats and tokens are asked for one at a time."""
    match chat_format:
        case ChatFormat.MARKDOWN:
            return chats_as_markdown(chats)
        case ChatFormat.JSON:
            return chats_as_json(chats, tokens_of)
        case ChatFormat.HTML:
            return chats_as_html(chats, tokens_of)
        case ChatFormat.TEXT:
            return chats_as_text(chats)


def export_answer(answer_format: AnswerFormat, answer: Answer) -> Iterator[str]:
    """The file's text in pieces of some hundreds of tokens."""
    match answer_format:
        case AnswerFormat.MARKDOWN:
            return iter([answer_as_markdown(answer.turn)])
        case AnswerFormat.JSON:
            return answer_as_json(answer)
        case AnswerFormat.CSV:
            return answer_as_csv(answer)
        case AnswerFormat.HTML:
            return answer_as_html(answer)
        case AnswerFormat.TEXT:
            return iter([answer_as_text(answer.turn)])

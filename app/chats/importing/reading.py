"""The import of a file, whatever program it is from."""

import codecs
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from app.chats.exporting.answer import Answer
from app.chats.exporting.csv_table import COLUMNS
from app.chats.exporting.schema import ANSWER_FORMAT, CHATS_FORMAT, VERSION
from app.chats.importing.chatgpt import is_chatgpt, read_chatgpt
from app.chats.importing.import_problems import is_archive, newer_version, not_recognised, too_large, unreadable
from app.chats.importing.json_stream import DamagedJsonError, JsonStream
from app.chats.importing.lm_studio import is_lm_studio, read_lm_studio
from app.chats.importing.open_webui import is_open_webui, read_open_webui
from app.chats.importing.own_answers import answer_of_csv
from app.chats.importing.own_chats import read_own_answer, read_own_chat
from app.chats.importing.remarks import UNKNOWN_KIND, UNREADABLE
from app.chats.importing.untrusted import fields_of
from app.chats.importing.values import Found, ImportedChat, Note
from app.chats.tree import Chat, ChatId
from engine.contracts import ProblemError

MAX_FILE: Final = 2**32
"""Bytes of the biggest file that is opened."""

_MAX_TABLE: Final = 2**28
_START: Final = 64
_ARCHIVE: Final = b"PK\x03\x04"
_TABLE: Final = ",".join(COLUMNS[:3]).encode()

_READERS: Final = ((is_chatgpt, read_chatgpt), (is_open_webui, read_open_webui), (is_lm_studio, read_lm_studio))


def import_file(path: Path) -> Iterator[ImportedChat | Note]:
    """Conversations and notes in the order of the file, one at a time.

    Raises `ProblemError` for a file that cannot be read or holds nothing of a known kind. What is damaged ends in a
    note, and everything else stands.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ProblemError(unreadable(path.name))
        if about.st_size > MAX_FILE:
            raise ProblemError(too_large(about.st_size, MAX_FILE))
        with path.open("rb") as file:
            yield from import_chats(file)
    except OSError as error:
        raise ProblemError(unreadable(path.name)) from error


def import_chats(file: BinaryIO) -> Iterator[ImportedChat | Note]:
    """The same from an open file that can seek. May raise `OSError` too."""
    start = file.read(_START)
    file.seek(0)
    if start.startswith(_ARCHIVE):
        raise ProblemError(is_archive())
    if start.removeprefix(codecs.BOM_UTF8).startswith(_TABLE):
        yield _chat_of(answer_of_csv(file.read(_MAX_TABLE).decode("utf-8-sig", "replace")))
    else:
        yield from _numbered(_conversations(JsonStream(file)))


def _numbered(conversations: Iterator[Found | None]) -> Iterator[ImportedChat | Note]:
    """Conversations with their remarks as notes; an entry of no known kind is None."""
    number = known = 0
    try:
        for number, found in enumerate(conversations, 1):
            known += found is not None
            if found is None:
                yield Note(number, UNKNOWN_KIND)
                continue
            yield from (Note(number, remark) for remark in found.remarks)
            if found.imported is not None:
                yield found.imported
    except DamagedJsonError as error:
        if not known:
            raise ProblemError(not_recognised()) from error
        yield Note(0, f"The file is damaged after conversation {number}; what follows could not be read.")
    if not known and number:
        raise ProblemError(not_recognised())


def _conversations(stream: JsonStream) -> Iterator[Found | None]:
    match stream.peek():
        case "[":
            is_empty = True
            for _ in stream.elements():
                is_empty = False
                yield _foreign(stream.value())
            if is_empty:
                raise ProblemError(not_recognised())
        case "{":
            yield from _own_or_foreign(stream)
        case _:
            raise ProblemError(not_recognised())


def _own_or_foreign(stream: JsonStream) -> Iterator[Found | None]:
    """Candor's own chats are read as they come; anything else is one conversation and read as a whole."""
    fields: dict[str, object] = {}
    own = None
    for name in stream.members():
        if name == "chats" and stream.peek() == "[":
            own = CHATS_FORMAT
            # Candor writes the format first. Where another program has put it last, it is only seen at the end.
            _refuse_other_format({"format": own, "version": VERSION} | fields, own)
            for _ in stream.elements():
                yield read_own_chat(stream)
        elif name == "answer" and stream.peek() == "{":
            own = ANSWER_FORMAT
            yield _own_answer(stream)
        else:
            fields[name] = stream.value()
    if own is None:
        yield _foreign(fields)
    else:
        _refuse_other_format(fields, own)


def _own_answer(stream: JsonStream) -> Found:
    try:
        return Found(_chat_of(read_own_answer(stream)))
    except ValueError:
        return Found(None, (UNREADABLE,))


def _refuse_other_format(fields: Mapping[str, object], own: str) -> None:
    version = fields.get("version")
    if fields.get("format") != own or not isinstance(version, int):
        raise ProblemError(not_recognised())
    if version > VERSION:
        raise ProblemError(newer_version())


def _foreign(record: object) -> Found | None:
    fields = fields_of(record)
    return next((read(fields) for is_known, read in _READERS if is_known(fields)), None)


def _chat_of(answer: Answer) -> ImportedChat:
    """A conversation of nothing but the answer."""
    turn = msgspec.structs.replace(answer.turn, parent=None)
    chat = Chat(id=ChatId(0), model=turn.model, head=turn.id, turns=(turn,))
    return ImportedChat(chat, {turn.id: answer.records} if answer.records.pieces else {})

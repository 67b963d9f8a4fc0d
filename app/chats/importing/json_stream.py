"""A JSON file read value by value, so that it need never be in memory as a whole."""

import codecs
import json
import re
from collections.abc import Iterator
from typing import BinaryIO, Final

MAX_VALUE: Final = 2**26
"""Code points of the biggest value that is read in one go: a conversation with pictures in it can have so many."""

_FIRST_READ: Final = 2**16
_BLANKS: Final = " \t\n\r"


class DamagedJsonError(Exception):
    """The file cannot be read any further; what was read before stands."""


class JsonStream:
    """Reads forward only. The caller asks what comes next and takes it in the way it wants: whole, or part by part.

    Every method may raise `DamagedJsonError`, also for what is too big or too deep to be read, or `OSError`. UTF-8 with
    or without a byte order mark; what is not UTF-8 becomes U+FFFD.
    """

    def __init__(self, file: BinaryIO, max_value: int = MAX_VALUE) -> None:
        self._file = file
        self._max_value = max_value
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._is_at_end = False

    def peek(self) -> str:
        """The next character that is not blank, or "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if self._is_at_end:
                return ""
            self._read_more()

    def value(self) -> object:
        """The next value, whatever it is, with strings that can be stored."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if _SURROGATE_ESCAPE.search(self._text, self._at, end):
                    value = _storable(value)
            except RecursionError as error:
                raise DamagedJsonError("too deep") from error
            except ValueError as error:
                # Half a value looks like a damaged one: only more text can tell.
                if self._is_at_end:
                    raise DamagedJsonError("no JSON") from error
            else:
                if self._is_at_end or not self._may_go_on(value, end):
                    self._at = end
                    return value
            self._read_more()

    def elements(self) -> Iterator[None]:
        """Stops before each element of the array that comes next; the caller takes it."""
        self._take("[")
        if self._took("]"):
            return
        while True:
            yield
            if self._took("]"):
                return
            self._take(",")

    def members(self) -> Iterator[str]:
        """The name of each member of the object that comes next; the caller takes the value that follows it."""
        self._take("{")
        if self._took("}"):
            return
        while True:
            name = self.value()
            if not isinstance(name, str):
                raise DamagedJsonError("no name")
            self._take(":")
            yield name
            if self._took("}"):
                return
            self._take(",")

    def _may_go_on(self, value: object, end: int) -> bool:
        """Of "1.5e9" there may be only "1.5e" yet, which reads as 1.5."""
        return isinstance(value, int | float) and self._text[end : end + 1] in _IN_NUMBERS

    def _take(self, mark: str) -> None:
        if not self._took(mark):
            raise DamagedJsonError(f"no {mark}")

    def _took(self, mark: str) -> bool:
        is_next = self.peek() == mark
        self._at += is_next
        return is_next

    def _read_more(self) -> None:
        """At least as much again as is waiting, so that a long value is not looked at over and over."""
        waiting = len(self._text) - self._at
        if waiting > self._max_value:
            raise DamagedJsonError("too big")
        raw = self._file.read(max(_FIRST_READ, waiting))
        self._is_at_end = not raw
        self._text = self._text[self._at :] + self._decoder.decode(raw, final=not raw)
        self._at = 0


def _storable(value: object) -> object:
    """`value` with each half of a surrogate pair in its strings replaced by U+FFFD: nothing can store such a half."""
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case list():
            return [_storable(each) for each in value]
        case dict():
            return {_storable(key): _storable(each) for key, each in value.items()}
        case _:
            return value


_IN_NUMBERS: Final = ("", *".eE+-0123456789")
_DECODER: Final = json.JSONDecoder()
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")

"""A budget for one template rendering: steps, seconds and characters."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

MAX_NUMBER_BITS: Final = 4096
_TOTAL_FACTOR: Final = 128
"""How often the greatest permitted value may come into being, because a template can keep what it makes."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """What one rendering may cost; `characters` is allowed beyond four times the length of the messages."""

    seconds: float = 2.0
    steps: int = 3_000_000
    characters: int = 1_000_000


class TemplateLimitError(Exception):
    """A template used up its budget."""


class Meter:
    """Counts what a template does. It is asked before every loop step, call and growing operation."""

    def __init__(self, limits: RenderLimits, message_characters: int) -> None:
        self._steps = limits.steps
        self._deadline = time.monotonic() + limits.seconds
        self._characters = limits.characters + 4 * message_characters
        self._written = 0
        self._made = 0

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0 or time.monotonic() > self._deadline:
            raise TemplateLimitError("it does not end")

    def allow(self, size: int) -> None:
        """May a value of `size` characters or items come into being?"""
        self._made += size
        self._check(size)
        self._check(self._made // _TOTAL_FACTOR)

    def write(self, size: int) -> None:
        """`size` more characters go to the output."""
        self._written += size
        self._check(self._written)

    def _check(self, size: int) -> None:
        if size > self._characters:
            raise TemplateLimitError("it writes without end")

    def items(self, values: Iterable[object]) -> Iterator[object]:
        for value in values:
            self.step()
            yield value

    def weigh(self, value: object) -> int:
        """The least size of `value` as text. A short template can build nests whose text outgrows any memory."""
        if isinstance(value, str):
            return len(value)
        size, waiting = 0, [value]
        while waiting:
            self.step()
            inner = waiting.pop()
            size += len(inner) if isinstance(inner, str) else 1
            self._check(size)
            if isinstance(inner, Mapping):
                waiting += inner.keys()
                waiting += inner.values()
            elif isinstance(inner, list | tuple | set | frozenset):
                waiting += inner
        return size


_meter: ContextVar[Meter] = ContextVar("template_meter")


def current_meter() -> Meter:
    """The meter of the rendering under way in this context; compiling has one as well."""
    return _meter.get()


def start_meter(limits: RenderLimits, message_characters: int) -> Meter:
    """Begin a rendering. Threads have contexts of their own, so renderings in two of them do not disturb each other."""
    meter = Meter(limits, message_characters)
    _meter.set(meter)
    return meter

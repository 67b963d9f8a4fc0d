"""The operations a template may use whose result could outgrow what went in, each checked before it happens."""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Final

from jinja2 import Environment, pass_environment
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS, make_attrgetter
from jinja2.runtime import LoopContext
from jinja2.tests import TESTS

from engine.text.metering import MAX_NUMBER_BITS, TemplateLimitError, current_meter

Operation = Callable[..., Any]
Arguments = tuple[Any, ...]

MAX_WIDTH: Final = 1000
_WIDE_FORMAT: Final = re.compile(r"\d{4}")
_STRUCTURAL: Final = (
    *("abs", "count", "d", "default", "first", "float", "int", "items", "last", "length", "list", "map"),
    *("reject", "rejectattr", "reverse", "round", "select", "selectattr"),
)
_COMPARING: Final = ("dictsort", "groupby", "max", "min", "sort", "unique")
_TEXTUAL: Final = (
    *("capitalize", "e", "escape", "forceescape", "lower", "safe", "string", "title", "trim", "upper", "wordcount"),
)
_COMPARING_TESTS: Final = (
    *("==", "eq", "equalto", "!=", "ne", ">", "gt", "greaterthan", ">=", "ge", "<", "lt", "lessthan", "<=", "le", "in"),
)
_FORBIDDEN_METHODS: Final = frozenset({"encode", "translate", "maketrans", "expandtabs"})


def bounded_filters() -> dict[str, Operation]:
    """The filters chat templates use. Those left out can build text of any length from a number."""
    filters = {name: _metered(FILTERS[name]) for name in _STRUCTURAL}
    filters |= {name: _weighed(FILTERS[name]) for name in (*_TEXTUAL, *_COMPARING)}
    filters |= {"indent": _weighed(_indent), "join": _metered(_join), "replace": _replace, "tojson": _weighed(to_json)}
    return filters


def bounded_tests() -> dict[str, Any]:
    """All of Jinja's tests; those that compare weigh before, because comparing nests can take for ever."""
    tests: dict[str, Any] = dict(TESTS)
    return tests | {name: _weighed(tests[name]) for name in _COMPARING_TESTS}


def joined(parts: Iterable[object]) -> str:
    """Jinja's `~`, and everything that a template captures in a variable."""
    meter = current_meter()
    texts = []
    size = 0
    for part in parts:
        size += meter.weigh(part)
        meter.allow(size)
        texts.append(str(part))
    return "".join(texts)


def check_binary(operator: str, left: object, right: object) -> None:
    """Refuse an operation whose result would be out of proportion. Raises `TemplateLimitError`."""
    meter = current_meter()
    meter.step()
    if operator == "+" and isinstance(left, Sized) and isinstance(right, Sized):
        meter.allow(len(left) + len(right))
    elif operator == "*":
        _check_product(left, right)
    elif operator == "**":
        _check_power(left, right)
    elif operator == "%" and isinstance(left, str):
        check_format(left, right)


def check_format(pattern: str, *values: object) -> None:
    """Refuse widths of thousands in a format."""
    if _WIDE_FORMAT.search(pattern) or "*" in pattern:
        raise TemplateLimitError("it pads text without end")
    meter = current_meter()
    # Each field of the pattern may repeat every value.
    fields = 1 + pattern.count("%") + pattern.count("{")
    meter.allow(len(pattern) + fields * sum(map(meter.weigh, values)))


def checked_arguments(owner: object, name: str, arguments: Arguments) -> Arguments:
    """The arguments for a method of a value, unless its result would be out of proportion, or take for ever."""
    if isinstance(owner, str):
        return _checked_text_arguments(owner, name, arguments)
    if isinstance(owner, list | tuple | LoopContext):
        # They compare with what they hold.
        current_meter().weigh([owner if isinstance(owner, list | tuple) else "", *arguments])
    return arguments


def _checked_text_arguments(text: str, name: str, arguments: Arguments) -> Arguments:
    if name in _FORBIDDEN_METHODS:
        raise SecurityError(f"chat templates have no use for str.{name}")
    match name, arguments:
        case "replace", (old, new, *_):
            _check_replace(text, str(old), str(new))
        case "join", (values,) if isinstance(values, Iterable):
            items = list(current_meter().items(values))
            current_meter().allow(len(text) * len(items) + current_meter().weigh(items))
            return (items,)
        case (("center" | "ljust" | "rjust" | "zfill"), (width, *_)):
            _check_width(width)
        case _:
            pass
    return arguments


def to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON as the model families' own templates expect it, without HTML escapes.

    Surrogates stay as they are even with `ensure_ascii`: they stand for characters of a user's text.
    """
    _check_width(indent or 0)
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys)
    return re.sub(r"[^\x00-\x7f\ud800-\udfff]", _escaped, text) if ensure_ascii else text


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _metered(operation: Operation) -> Operation:
    """A filter that works item by item: each item is a step, also when it is lazy."""

    @functools.wraps(operation)
    def filtered(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - a filter's types are the template's
        current_meter().step()
        result = operation(*arguments, **options)
        return current_meter().items(result) if isinstance(result, Iterator) else result

    return filtered


def _weighed(operation: Operation) -> Operation:
    """A filter that makes text of its value: the value's text has to be of a possible size."""

    @functools.wraps(operation)
    def filtered(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - a filter's types are the template's
        meter = current_meter()
        meter.step()
        for argument in arguments:
            meter.weigh(argument)
        return operation(*arguments, **options)

    return filtered


@pass_environment
def _join(
    environment: Environment, values: Iterable[object], separator: str = "", attribute: str | int | None = None
) -> str:
    meter = current_meter()
    read = make_attrgetter(environment, attribute) if attribute is not None else None
    items = [joined([read(item) if read else item]) for item in meter.items(values)]
    meter.allow(len(separator) * len(items) + sum(map(len, items)))
    return separator.join(items)


def _replace(value: object, old: str, new: str, count: int = -1) -> str:
    meter = current_meter()
    meter.step()
    meter.weigh(value)
    text = str(value)
    _check_replace(text, old, new)
    return text.replace(old, new, count)


def _indent(value: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    _check_width(len(width) if isinstance(width, str) else width)
    margin = width if isinstance(width, str) else " " * width
    lines = value.splitlines(keepends=True)
    current_meter().allow(len(value) + len(margin) * len(lines))
    return "".join(
        line if (place == 0 and not first) or (not blank and not line.strip()) else margin + line
        for place, line in enumerate(lines)
    )


def _check_replace(text: str, old: str, new: str) -> None:
    found = text.count(old) if old else len(text) + 1
    current_meter().allow(len(text) + found * len(new))


def _check_product(left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > MAX_NUMBER_BITS:
            raise TemplateLimitError("it multiplies without end")
    elif isinstance(left, Sized) and isinstance(right, int):
        current_meter().allow(len(left) * right)
    elif isinstance(left, int) and isinstance(right, Sized):
        current_meter().allow(left * len(right))


def _check_power(left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > MAX_NUMBER_BITS:
        raise TemplateLimitError("it multiplies without end")


def _check_width(width: object) -> None:
    if isinstance(width, int) and width > MAX_WIDTH:
        raise TemplateLimitError("it pads text without end")

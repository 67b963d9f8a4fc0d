"""Values from a file of another program, taken for what they are or for nothing."""

from collections.abc import Mapping, Sequence

_MOST_SECONDS = 10**11
"""As seconds this is the year 5138, as milliseconds 1973: nothing that is imported is of either time."""
_LATEST_MS = 2**53
_LONGEST_TITLE = 200


def text_of(value: object) -> str:
    """A string; "" for what is none."""
    return value if isinstance(value, str) else ""


def title_of(value: object) -> str:
    """A title on one line that a list can show."""
    return " ".join(text_of(value)[: 2 * _LONGEST_TITLE].split())[:_LONGEST_TITLE]


def word_of(value: object) -> str:
    """A short name on one line, such as the kind of a message; "unknown" for anything else."""
    return " ".join(text_of(value).split())[:40] or "unknown"


def name_of(value: object) -> str | None:
    """A string that says something, or None."""
    return text_of(value).strip() or None


def key_of(value: object) -> str | None:
    """A string that names something else in the file, exactly as it is; None for nothing."""
    return value if isinstance(value, str) and value else None


def fields_of(value: object) -> Mapping[str, object]:
    """An object, empty for what is none."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> Sequence[object]:
    """An array, empty for what is none."""
    return value if isinstance(value, list) else ()


def keys_of(value: object) -> list[str]:
    """The strings in an array."""
    return [each for each in items_of(value) if isinstance(each, str)]


def ms_of(moment: object) -> int:
    """Milliseconds since 1970 from as many, or from seconds; 0 for what is no moment."""
    if isinstance(moment, bool) or not isinstance(moment, int | float) or not 0 < moment < _LATEST_MS:
        return 0
    return int(moment) if moment > _MOST_SECONDS else int(moment * 1000)

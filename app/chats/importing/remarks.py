"""Sentences about what an import could not take over."""

from collections import Counter
from collections.abc import Iterable

UNREADABLE = "The conversation is damaged and was skipped."
UNKNOWN_KIND = "This is no conversation of a known kind and was skipped."
NO_MESSAGES = "The conversation has no messages and was skipped."


def missing_parts(kinds: Iterable[str]) -> list[str]:
    """One sentence for each kind."""
    return [
        f"{count} {'part' if count == 1 else 'parts'} of the kind “{kind}” could not be imported; "
        "a line in the text marks the place."
        for kind, count in Counter(kinds).items()
    ]


def damaged_messages(count: int) -> list[str]:
    return _counted(count, "is damaged and was skipped.", "are damaged and were skipped.")


def cut_messages(count: int) -> list[str]:
    return _counted(
        count, "follows none that is there: it begins a branch.", "follow none that is there: they begin branches."
    )


def damaged_tokens(count: int) -> list[str]:
    return _counted(count, "lost its damaged measurements.", "lost their damaged measurements.")


def _counted(count: int, of_one: str, of_many: str) -> list[str]:
    if count == 0:
        return []
    return [f"1 message {of_one}" if count == 1 else f"{count} messages {of_many}"]

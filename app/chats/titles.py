"""Titles from the user's first words."""

_LENGTH = 40

UNTITLED = "New chat"


def title_of(text: str) -> str:
    """The first words of `text` on one line, cut between words where that leaves enough."""
    line = " ".join(text.split())
    if len(line) <= _LENGTH:
        return line or UNTITLED
    cut = line[:_LENGTH]
    words, _, _ = cut.rpartition(" ")
    return f"{words if len(words) > _LENGTH // 2 else cut}…"

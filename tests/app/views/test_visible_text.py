"""A token's text can be seen, whatever it is."""

import pytest

from app.views.visible_text import visible_text


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b" the", "·the"),
        (b"\n\n", "⏎⏎"),
        (b"\t", "⇥"),
        ("é".encode(), "é"),
        ("\u200b".encode(), "⟨U+200B⟩"),
        (b"\xf0\x9f", "F0 9F"),
        (b"", "(empty)"),
        (b"<|im_end|>", "<|im_end|>"),
    ],
)
def test_everything_invisible_is_made_visible(token: bytes, shown: str) -> None:
    assert visible_text(token) == shown


def test_a_long_token_is_cut_with_a_mark() -> None:
    assert visible_text(b"a" * 100, limit=10) == "a" * 10 + "…"

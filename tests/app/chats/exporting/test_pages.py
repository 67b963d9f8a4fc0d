"""What people read of an exported conversation."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.chats.exporting.answer import Answer
from app.chats.exporting.formats import AnswerFormat, ChatFormat, export_answer, export_chats
from app.chats.exporting.heat_style import DARK, LIGHT, PageColours, heat_colours, style_sheet
from app.chats.exporting.markdown import chats_as_markdown
from app.chats.exporting.token_words import percent, spelled, token_words
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat, Turn
from engine.contracts import Part, TokenPiece
from tests.app.chats.exporting import examples
from tests.app.chats.exporting.examples import BOUNDED

GOLDEN = Path(__file__).parent / "golden"

HOSTILE = "</div><script>alert(1)</script><img src=x onerror=alert(1)>\"'&<!--"


@pytest.mark.parametrize("chat_format", ChatFormat)
def test_a_chat_is_written_as_it_was_judged_right(chat_format: ChatFormat) -> None:
    text = "".join(export_chats(chat_format, [examples.CHAT], examples.tokens_of))

    assert text.encode() == (GOLDEN / f"chat.{chat_format}").read_bytes()


@pytest.mark.parametrize("answer_format", AnswerFormat)
def test_an_answer_is_written_as_it_was_judged_right(answer_format: AnswerFormat) -> None:
    assert (
        "".join(export_answer(answer_format, examples.ANSWER)).encode()
        == (GOLDEN / f"answer.{answer_format}").read_bytes()
    )


class Page(HTMLParser):
    """What a browser finds in a page: all text apart from the style, and all tags with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.tokens: list[str] = []
        self.messages: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)
        if ("class", "text") in attrs:
            self.messages.append("")
        if tag == "span" and self.messages:
            self.tokens.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["span"] and self.tokens:
            self.tokens[-1] += data
        if "div" in self.open:
            self.messages[-1] += data


@BOUNDED
@given(st.lists(st.text() | st.just(HOSTILE) | examples.texts, min_size=1, max_size=5))
@example([HOSTILE, "\0", "\r", "\r\n", "\x1b", "]]>"])
def test_whatever_a_message_says_stays_text(texts: list[str]) -> None:
    pieces = tuple(TokenPiece(1, text.encode(), text, 0, 0) for text in texts)
    turn = replace(examples.SECOND, text="".join(texts), model=texts[0])
    question = replace(examples.QUESTION, text=texts[-1])
    chat = Chat(id=examples.CHAT.id, title=texts[0], head=turn.id, turns=(question, turn))
    records = TokenRecords(pieces, (None,) * len(pieces))

    page = Page("".join(export_chats(ChatFormat.HTML, [chat], lambda _: records if _ == turn.id else TokenRecords())))

    assert page.tokens == [_lawful(text) for text in texts]
    assert page.messages[-1] == _lawful(turn.text)
    assert {tag for tag, _ in page.tags} <= {
        *("html", "head", "meta", "title", "style", "body", "section", "article", "h1", "h2", "small"),
        *("p", "div", "span", "details", "summary"),
    }
    assert {name for _, attributes in page.tags for name in attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "title")
    }
    assert page.open == []


def _lawful(text: str) -> str:
    return re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]", "\ufffd", text)


def test_the_page_refers_to_nothing_outside_itself() -> None:
    page = "".join(export_answer(AnswerFormat.HTML, examples.ANSWER))

    assert not re.search(r"url\(|@import|https?:|//|src=|href=", page)
    assert "default-src 'none'" in page


def test_every_token_of_the_heatmap_says_what_was_measured_of_it() -> None:
    page = Page("".join(export_answer(AnswerFormat.HTML, examples.ANSWER)))

    titles = [attributes["title"] for tag, attributes in page.tags if tag == "span" and "title" in attributes]
    pairs = zip(examples.RECORDS.pieces, examples.RECORDS.logprobs, strict=True)
    assert titles == [token_words(piece, measured) for piece, measured in pairs]


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_is_readable_on_every_colour(colours: PageColours) -> None:
    surfaces = [colours.page, colours.bubble, colours.hatch, *heat_colours(colours)]

    assert min(_contrast(colours.text, surface) for surface in surfaces) >= 4.5
    assert _contrast(colours.dimmed, colours.page) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_heat_is_seen_without_colour_vision(colours: PageColours) -> None:
    lightness = [_luminance(colour) for colour in heat_colours(colours)]

    assert lightness in (sorted(lightness), sorted(lightness, reverse=True))
    assert _contrast(heat_colours(colours)[0], heat_colours(colours)[-1]) > 2


def test_the_style_sheet_has_the_colours_of_both_themes() -> None:
    light, _, dark = style_sheet().partition("prefers-color-scheme:dark")

    for colours, part in ((LIGHT, light), (DARK, dark)):
        assert all(f"--h{step}:#{colour};" in part for step, colour in enumerate(heat_colours(colours)))


def _contrast(one: str, other: str) -> float:
    """WCAG 2.2, "contrast ratio"."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    """WCAG 2.2, "relative luminance"."""
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in (channel / 255 for channel in bytes.fromhex(colour))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _markdown(*turns: Turn) -> str:
    chat = Chat(id=examples.CHAT.id, title="T", head=turns[-1].id, turns=turns)
    return "".join(chats_as_markdown([chat]))


@pytest.mark.parametrize(
    ("text", "closed_by"),
    [
        ("```python\nx = 1", "```"),
        ("~~~~\n```\nx", "~~~~"),
        ("````\n```\n", "````"),
        ("```\na\n```\n\n```\nb", "```"),
        ("```\na\n``` b\nc", "```"),
        ("a\r\n```\r\nb", "```"),
        ("```\nclosed\n```", None),
        ("```\nclosed by more\n`````", None),
        ("    ```\nindented", None),
        ("``` `inline` ```", None),
    ],
)
def test_a_code_block_that_was_left_open_ends_with_its_message(text: str, closed_by: str | None) -> None:
    written = _markdown(replace(examples.QUESTION, text=text))

    expected = text.strip("\n") + (f"\n{closed_by}" if closed_by else "")
    assert written == f"# T\n\n## You\n\n{expected}\n"


def test_a_thought_is_a_quotation_line_by_line() -> None:
    turn = replace(examples.QUESTION, text="So.", thinking="```\none\n\ntwo\n")

    assert "\n> **Thinking**\n>\n> ```\n> one\n>\n> two\n\nSo.\n" in _markdown(turn)


def test_a_title_is_no_markup() -> None:
    chat = Chat(id=examples.CHAT.id, title="*a*\n# [b](c) <d> `e`")

    assert "".join(chats_as_markdown([chat])) == "# \\*a\\* \\# \\[b\\](c) \\<d\\> \\`e\\`\n"


def test_the_models_folder_is_not_told() -> None:
    answer = replace(examples.SECOND, model="/Users/someone/models/small")

    assert "## Assistant (small, seed" in _markdown(replace(answer, parent=None))
    assert "someone" not in "".join(export_answer(AnswerFormat.HTML, Answer(answer)))


def test_chats_are_written_one_at_a_time() -> None:
    read: list[int] = []

    def many() -> Iterator[Chat]:
        for number in range(5_000):
            read.append(number)
            yield examples.CHAT

    for chat_format in ChatFormat:
        read.clear()
        written = export_chats(chat_format, many(), examples.tokens_of)
        for _ in range(6):
            next(written)
        assert len(read) <= 3


def test_a_page_of_a_chat_without_a_branch_has_only_its_title() -> None:
    chat = replace(examples.CHAT, head=None)

    assert "".join(export_chats(ChatFormat.TEXT, [chat], examples.tokens_of)) == "Less & more\n===========\n"


@pytest.mark.parametrize(
    ("logprob", "shown"),
    [
        (None, "not measured"),
        (float("nan"), "unavailable"),
        (float("-inf"), "excluded"),
        (0.0, ">99.99 %"),
        (-0.0005, "99.95 %"),
        (-0.7, "49.7 %"),
        (-7.0, "0.0912 %"),
        (-60.0, "<0.000000001 %"),
    ],
)
def test_probabilities_stay_true_at_the_extremes(logprob: float | None, shown: str) -> None:
    assert percent(logprob) == shown


def test_a_long_heatmap_is_written_in_pieces() -> None:
    pieces = tuple(TokenPiece(number, b"a", "a", number, number + 1) for number in range(1_000))
    written = list(export_answer(AnswerFormat.HTML, Answer(examples.SECOND, TokenRecords(pieces, (None,) * 1_000))))

    assert Page("".join(written)).messages == ["a" * 1_000]
    assert max(map(len, written)) < 30_000


def test_only_what_a_filter_left_alone_is_certain() -> None:
    assert percent(0.0, may_be_certain=True) == "100 %"


def test_invisible_bytes_are_spelled_out() -> None:
    assert [spelled(data) for data in (b" a", b"\n\0", b"\xe2\x80\xae", b"\xff\x00")] == [
        "' a'",
        r"'\n\x00'",
        r"'\u202e'",
        "bytes ff 00",
    ]


def test_parts_of_a_message_follow_each_other_as_they_came() -> None:
    pieces = tuple(
        TokenPiece(1, text.encode(), text, 0, 1, part)
        for text, part in (("a", Part.ANSWER), ("b", Part.THINKING), ("c", Part.TOOL_CALL))
    )
    page = Page("".join(export_answer(AnswerFormat.HTML, Answer(examples.SECOND, TokenRecords(pieces, (None,) * 3)))))

    assert page.messages == ["a", "b", "c"]
    assert [tag for tag, _ in page.tags].count("details") == 1

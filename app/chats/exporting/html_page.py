"""Conversations as one HTML page that needs nothing but itself.

Every text is escaped, there is no script, and the page forbids its reader to load anything.
"""

import html
import re
from collections.abc import Iterable, Iterator
from typing import Final

from app.chats.exporting.answer import Answer, TokensOf, batches, known_tokens
from app.chats.exporting.heat_style import STEPS, style_sheet
from app.chats.exporting.speakers import branch_with_details, details_of, speaker_of, title_line
from app.chats.exporting.token_words import probability_of, token_words
from app.chats.token_records import TokenRecords
from app.chats.tree import Chat
from engine.contracts import Part, TokenLogprobs, TokenPiece

_HEAD: Final = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style></head><body>
"""
_FOOT: Final = "</body></html>\n"
_LEGEND: Final = (1.0, 0.75, 0.5, 0.25, 0.0)


def chats_as_html(chats: Iterable[Chat], tokens_of: TokensOf) -> Iterator[str]:
    """The branch on screen of each chat with its heatmap, some hundreds of tokens at a time."""
    yield _head("Conversations")
    for chat in chats:
        yield f"<section><h1>{_escaped(title_line(chat))}</h1>\n"
        for turn, details in branch_with_details(chat):
            yield from _article(Answer(turn, tokens_of(turn.id)), details)
        yield "</section>\n"
    yield _FOOT


def answer_as_html(answer: Answer) -> Iterator[str]:
    """The answer with its heatmap, some hundreds of tokens at a time."""
    yield _head("Answer")
    yield from _article(answer, details_of(answer.turn))
    yield _FOOT


def _head(title: str) -> str:
    return _HEAD.format(title=_escaped(title), style=style_sheet()) + _legend()


def _legend() -> str:
    scale = "".join(f'<span class="t {_step(share)}">&#8194;{share:.0%}&#8194;</span>' for share in _LEGEND)
    return (
        f'<p class="legend">Model probability of each token: {scale} '
        '<span class="t u">&#8194;not measured&#8194;</span></p>\n'
    )


def _article(answer: Answer, details: str) -> Iterator[str]:
    turn, records = answer.turn, known_tokens(answer.records)
    small = f" <small>{_escaped(details)}</small>" if details else ""
    yield f'<article class="{turn.role}"><h2>{speaker_of(turn)}{small}</h2>\n'
    if records.pieces:
        for part, stretch in records.by_part():
            yield from _part(part is Part.THINKING, (_tokens(batch) for batch in batches(stretch)))
    else:
        for is_thinking, text in ((True, turn.thinking), (False, turn.text)):
            yield from _part(is_thinking, [_escaped(text)]) if text else ()
    yield "</article>\n"


def _part(is_thinking: bool, content: Iterable[str]) -> Iterator[str]:
    yield '<details><summary>Thinking</summary><div class="text">' if is_thinking else '<div class="text">'
    yield from content
    yield "</div></details>\n" if is_thinking else "</div>\n"


def _tokens(records: TokenRecords) -> str:
    return "".join(map(_token, records.pieces, records.logprobs))


def _token(piece: TokenPiece, measured: TokenLogprobs | None) -> str:
    classes = f"t {_heat(measured)}{_mark(piece.text)}"
    return f'<span class="{classes}" title="{_escaped(token_words(piece, measured))}">{_escaped(piece.text)}</span>'


def _mark(text: str) -> str:
    """The class that makes a token visible whose text is not."""
    if not text:
        return " e"
    return " n" if text.startswith(_LINE_ENDS) else ""


def _heat(measured: TokenLogprobs | None) -> str:
    probability = None if measured is None else probability_of(measured.logprob)
    return "u" if probability is None else _step(probability)


def _step(probability: float) -> str:
    return f"h{round((1.0 - probability) * (STEPS - 1))}"


_LINE_ENDS: Final = ("\n", "\r")
_CONTROLS: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f]")


def _escaped(text: str) -> str:
    """HTML has no place for control characters, and a parser would turn a bare carriage return into a line feed."""
    escaped = html.escape(text).replace("\r", "&#13;").replace("\n", "&#10;")
    return _CONTROLS.sub("\ufffd", escaped)

"""Tokens as a test writes them."""

import math
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engine.contracts import Committed, Part, Removal, TokenLogprobs, TokenPiece, TopLogprob


class ScriptedToken(NamedTuple):
    """One token: its text, and what was measured of it."""

    text: str
    logprobs: TokenLogprobs | None = None
    part: Part = Part.ANSWER
    special: bool = False
    removed: Removal | None = None


def token(
    text: str,
    probability: float | None = None,
    top: Mapping[str, float] | None = None,
    part: Part = Part.ANSWER,
    rank: int | None = None,
    entropy: float | None = None,
) -> ScriptedToken:
    """A token chosen with `probability`, beside the candidates of `top` with theirs. None: not measured."""
    candidates = None
    if top is not None:
        candidates = tuple(
            TopLogprob(id=token_id(text), logprob=math.log(each), data=text.encode()) for text, each in top.items()
        )
    measured = TokenLogprobs(
        logprob=None if probability is None else math.log(probability), top=candidates, rank=rank, entropy=entropy
    )
    return ScriptedToken(text, None if measured == TokenLogprobs() else measured, part)


def token_id(text: str) -> int:
    """The same text always has the same id; nothing else is promised of it."""
    return zlib.crc32(text.encode()) % 49_152


def split_words(text: str) -> Iterator[str]:
    """`text` in tokens of one word each, blanks in front as tokenizers have them."""
    return (match.group() for match in re.finditer(r"\s*\S+|\s+$", text))


class TokenWriter:
    """Turns what a script says into committed events, counting sequence and offsets on."""

    def __init__(self) -> None:
        self.sequence = 0
        self.token_count = 0
        self._position = 0

    def commit(self, tokens: list[ScriptedToken]) -> Committed:
        """One event with all of `tokens`."""
        pieces = tuple(self._place(each) for each in tokens)
        logprobs = tuple(each.logprobs for each in tokens)
        event = Committed(
            sequence=self.sequence,
            token_ids=tuple(piece.id for piece in pieces),
            logprobs=logprobs if any(each is not None for each in logprobs) else None,
            pieces=pieces,
        )
        self.sequence += 1
        self.token_count += len(pieces)
        return event

    def _place(self, scripted: ScriptedToken) -> TokenPiece:
        hidden = scripted.special or scripted.removed is not None
        start, text = self._position, "" if hidden else scripted.text
        self._position += len(text)
        return TokenPiece(
            id=token_id(scripted.text),
            data=scripted.text.encode(),
            text=text,
            start=start,
            end=self._position,
            part=scripted.part,
            special=scripted.special,
            removed=scripted.removed,
        )

"""Tokens with everything that can be measured."""

import math
import struct

from app.chats.token_records import TokenRecords
from engine.contracts import Part, Removal, TokenLogprobs, TokenPiece, TopLogprob


def float32(number: float) -> float:
    """The nearest value that a float32 device can give."""
    (nearest,) = struct.unpack("f", struct.pack("f", number))
    return float(nearest)


def tokens(*texts: str, start: int = 0, part: Part = Part.ANSWER, top_k: int = 10) -> TokenRecords:
    """One token for each text, with `top_k` alternatives."""
    pieces, logprobs = [], []
    for place, text in enumerate(texts):
        pieces.append(TokenPiece(place, text.encode(), text, start, start + len(text), part))
        start += len(text)
        top = tuple(TopLogprob(id_, float32(-0.1 - id_), b"word%d" % id_) for id_ in range(place, place + top_k))
        logprobs.append(TokenLogprobs(float32(-0.1 * (place + 1)), top))
    return TokenRecords(tuple(pieces), tuple(logprobs))


STRANGE = TokenRecords(
    (
        TokenPiece(5, b"\xe4", "", 0, 1),
        TokenPiece(6, b"\xbd\xa0", "你", 0, 1),
        TokenPiece(7, b"<|im_end|>", "", 1, 1, special=True),
        TokenPiece(2**31 - 1, b" stop", "", 1, 1, removed=Removal.STOP_STRING),
        TokenPiece(5, b"\xff", "\ufffd", 1, 2, Part.THINKING),
        TokenPiece(8, b"", "", 2, 2, Part.TOOL_CALL, True, Removal.MARKUP),
    ),
    (
        None,
        TokenLogprobs(-0.25, ()),
        TokenLogprobs(-math.inf, None, -1e300, 0.1, 3, 2.5),
        TokenLogprobs(None, (TopLogprob(1), TopLogprob(1, -0.5, b"x", -math.inf, -0.75, "top_p"))),
        TokenLogprobs(0.1, (TopLogprob(2, 0.1),), rank=0),
        None,
    ),
)

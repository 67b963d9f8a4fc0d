"""What a session tells its reader while it runs."""

import enum

import msgspec


class Part(enum.StrEnum):
    """Which part of a message a token belongs to."""

    THINKING = "thinking"
    ANSWER = "answer"
    TOOL_CALL = "tool_call"


class Removal(enum.StrEnum):
    """Why a token's text is not shown."""

    STOP_STRING = "stop_string"
    MARKUP = "markup"
    """The token spells a tag that divides the parts of a message, such as the end of thinking."""


class TokenPiece(msgspec.Struct, frozen=True, array_like=True):
    """One token's place in the message.

    `data` is the token's own bytes. `text` is what it appended to the message: joined in order, the texts of all pieces
    are the message. `start` and `end` are offsets in code points into that text; tokens that share one character all
    have that character's span, and only the last of them has its text. A special or removed token has no text and an
    empty span.
    """

    id: int
    data: bytes
    text: str
    start: int
    end: int
    part: Part = Part.ANSWER
    special: bool = False
    removed: Removal | None = None


class TopLogprob(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One candidate of a step: the model's log-probability in nats, with its values at the later stages.

    `adjusted` is after penalties and bias, `sampled` in the distribution drawn from (-inf when excluded, and then
    `excluded_by` names the filter). `data` is the candidate's bytes. None: not measured.
    """

    id: int
    logprob: float | None = None
    data: bytes = b""
    adjusted: float | None = None
    sampled: float | None = None
    excluded_by: str | None = None


class TokenLogprobs(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was measured of one chosen token. None: not measured.

    `logprob` in nats under the model's raw logits, `adjusted` after penalties and bias, `sampled` in the distribution
    drawn from; `rank` 0 is the most probable; `entropy` in nats over the whole vocabulary; `top` by falling `logprob`.
    """

    logprob: float | None = None
    top: tuple[TopLogprob, ...] | None = None
    adjusted: float | None = None
    sampled: float | None = None
    rank: int | None = None
    entropy: float | None = None


class Committed(msgspec.Struct, frozen=True, tag="committed", omit_defaults=True):
    """Tokens that are part of the answer for good. `sequence` counts these events from 0 without gaps.

    `logprobs` and `pieces`, when given, have one entry for each of `token_ids`.
    """

    sequence: int
    token_ids: tuple[int, ...]
    logprobs: tuple[TokenLogprobs | None, ...] | None = None
    pieces: tuple[TokenPiece, ...] | None = None


class Progress(msgspec.Struct, frozen=True, tag="progress", omit_defaults=True):
    """How far the work before the next token is: prompt tokens read, bytes loaded or written. Has no number."""

    completed: float
    total: float | None = None
    phase: str | None = None


SessionEvent = Committed | Progress

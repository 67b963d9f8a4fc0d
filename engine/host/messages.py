"""What the app and the engine say to each other over the wire.

Generations, scorings, loads and installations are all channels: `Open` names one, `Event`s follow as far as the app has
granted them, `Ended` closes it. The app numbers channels and calls; a number is never used twice on one connection.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from engine.contracts import (
    Cancelled,
    Completed,
    EngineStatus,
    Failed,
    GenerationRequest,
    GenerationResult,
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    ModelDescription,
    Problem,
    PromptFit,
    ScoreRequest,
    ScoreResult,
    SessionEvent,
)

WIRE_VERSION: Final = 2
"""Raised with every change to a message or to a contract it carries; both ends must agree."""

Request = GenerationRequest | ScoreRequest | LoadRequest | InstallRequest
WireOutcome = Completed[GenerationResult | ScoreResult | LoadResult | InstallResult] | Cancelled | Failed
Credit = Annotated[int, msgspec.Meta(ge=1)]


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first message of each side. Its shape never changes, so that any two versions can tell that they differ."""

    version: int
    pid: int


class Open(msgspec.Struct, frozen=True, tag="open"):
    """Begin a session that may send `credit` events."""

    channel: int
    request: Request
    credit: Credit


class Grant(msgspec.Struct, frozen=True, tag="grant"):
    """The reader has room for so many more events."""

    channel: int
    events: Credit


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """End a session; its `Ended` still comes."""

    channel: int
    reason: str


class ListModels(msgspec.Struct, frozen=True, tag="list_models"):
    """Answered by `Models` or `CallFailed`."""

    call: int
    folders: tuple[str, ...]


class FitPrompt(msgspec.Struct, frozen=True, tag="fit_prompt"):
    """Answered by `Fit` or `CallFailed`."""

    call: int
    request: GenerationRequest


class GetStatus(msgspec.Struct, frozen=True, tag="get_status"):
    """Answered by `Status` or `CallFailed`."""

    call: int


class Shutdown(msgspec.Struct, frozen=True, tag="shutdown"):
    """Cancel everything, close the engine and exit."""


class Event(msgspec.Struct, frozen=True, tag="event"):
    """The next event of a session; uses up one credit, unless the session has ended already."""

    channel: int
    event: SessionEvent


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The last message of a channel."""

    channel: int
    outcome: WireOutcome


class Models(msgspec.Struct, frozen=True, tag="models"):
    """Answers `ListModels`."""

    call: int
    models: tuple[ModelDescription, ...]


class Fit(msgspec.Struct, frozen=True, tag="fit"):
    """Answers `FitPrompt`."""

    call: int
    fit: PromptFit


class Status(msgspec.Struct, frozen=True, tag="status"):
    """Answers `GetStatus`."""

    call: int
    status: EngineStatus


class CallFailed(msgspec.Struct, frozen=True, tag="call_failed"):
    """Answers a call that raised."""

    call: int
    problem: Problem


ToEngine = Hello | Open | Grant | Cancel | ListModels | FitPrompt | GetStatus | Shutdown
ToApp = Hello | Event | Ended | Models | Fit | Status | CallFailed

_encoder = msgspec.msgpack.Encoder()
_engine_decoder: msgspec.msgpack.Decoder[ToEngine] = msgspec.msgpack.Decoder(ToEngine)
_app_decoder: msgspec.msgpack.Decoder[ToApp] = msgspec.msgpack.Decoder(ToApp)

encode: Callable[[Any], bytes] = _encoder.encode
"""A message as msgpack. Does not check it: see `encode_checked`."""
decode_for_engine: Callable[[bytes], ToEngine] = _engine_decoder.decode
"""Raises `msgspec.DecodeError` for anything that is not a valid message to the engine."""
decode_for_app: Callable[[bytes], ToApp] = _app_decoder.decode
"""Raises `msgspec.DecodeError` for anything that is not a valid message to the app."""


def encode_checked(message: ToEngine) -> bytes:
    """A message as msgpack that the engine is sure to understand.

    One bad value in a request must fail that request, not the connection: lone surrogates, integers over 64 bits and
    values of another type are refused here. Raises ValueError, TypeError or OverflowError.
    """
    encoded = encode(message)
    decode_for_engine(encoded)
    return encoded

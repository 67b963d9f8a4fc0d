"""Every message survives the wire; what cannot is refused where it is made."""

import math
from typing import Any

import msgspec
import pytest

from engine.contracts import (
    Cancelled,
    CaptureSettings,
    Committed,
    Completed,
    EngineStatus,
    Failed,
    Failure,
    FinishReason,
    GenerationRequest,
    GenerationResult,
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    Message,
    ModelDescription,
    ModelSource,
    Part,
    Problem,
    Progress,
    Removal,
    Role,
    SamplingSettings,
    TokenLogprobs,
    TokenPiece,
    TopLogprob,
)
from engine.host.messages import (
    CallFailed,
    Cancel,
    Ended,
    Event,
    GetStatus,
    Grant,
    Hello,
    ListModels,
    Models,
    Open,
    Shutdown,
    Status,
    ToApp,
    ToEngine,
    decode_for_app,
    decode_for_engine,
    encode,
    encode_checked,
)

PROBLEM = Problem(code="disk_full", sentence="The disk is full.", remedy="Make room.")
MODEL = ModelDescription(id="/m", name="M", source=ModelSource.HUGGING_FACE, weight_bytes=2**40, problem=PROBLEM)
GENERATION = GenerationRequest(
    model="/models/tiny",
    messages=(Message(Role.SYSTEM, "sé"), Message(Role.USER, "🙂\x00"), Message(Role.ASSISTANT, "")),
    sampling=SamplingSettings(temperature=0, seed=2**64 - 1, logit_bias={49_151: -math.inf}),
    captures=CaptureSettings(top_k=20, stages=True, entropy=True, rank=True),
    max_tokens=0,
    stop=("\n\n",),
    thinking=False,
    continue_last=True,
    forced_prefix=(0, 2**32 - 1),
)
COMMITTED = Committed(
    sequence=7,
    token_ids=(1, 2),
    logprobs=(
        None,
        TokenLogprobs(
            logprob=-0.5, top=(TopLogprob(3, -1.0, b"\xff", -1.5, -math.inf, "top_p"),), rank=0, entropy=0.25
        ),
    ),
    pieces=(
        TokenPiece(1, b"\xe6\x97", "", 0, 1, Part.THINKING),
        TokenPiece(2, b"", "", 1, 1, special=True, removed=Removal.MARKUP),
    ),
)
GENERATED = GenerationResult(
    finish_reason=FinishReason.CONTEXT_FULL,
    prompt_tokens=1,
    cached_tokens=0,
    generated_tokens=2,
    seed=2**63,
    first_token_seconds=0.5,
    decode_seconds=0.0,
)
LOADED = LoadResult(model="/m", context_length=8, vocabulary_size=9, weight_bytes=10, load_seconds=0.0)

TO_ENGINE: list[ToEngine] = [
    Hello(1, 2),
    Open(1, GENERATION, 64),
    Open(2, LoadRequest("/m"), 1),
    Open(3, InstallRequest(), 1),
    Grant(1, 32),
    Cancel(1, ""),
    ListModels(1, ("/a b", "/ü")),
    GetStatus(2),
    Shutdown(),
]
TO_APP: list[ToApp] = [
    Hello(1, 2),
    Event(1, COMMITTED),
    Event(1, Progress(0.5, None, "load")),
    Ended(1, Completed(GENERATED, 2)),
    Ended(1, Completed(LOADED, 0)),
    Ended(1, Completed(InstallResult(MODEL), 0)),
    Ended(1, Cancelled("requested", 5)),
    Ended(1, Failed(Failure("cleanup_failed", "a", "b", PROBLEM), 5)),
    Models(1, (MODEL,)),
    Status(2, EngineStatus(active_rows=1, resident_models=("/m",), device_bytes=2**50)),
    CallFailed(3, PROBLEM),
]


@pytest.mark.parametrize("message", TO_ENGINE, ids=lambda each: type(each).__name__)
def test_what_the_app_says_arrives_unchanged(message: ToEngine) -> None:
    assert decode_for_engine(encode_checked(message)) == message


@pytest.mark.parametrize("message", TO_APP, ids=lambda each: type(each).__name__)
def test_what_the_engine_says_arrives_unchanged(message: ToApp) -> None:
    assert decode_for_app(encode(message)) == message


def _with(**changes: Any) -> Open:
    return Open(1, msgspec.structs.replace(GENERATION, **changes), 1)


@pytest.mark.parametrize(
    "message",
    [
        _with(messages=(Message(Role.USER, "half a pair: \ud83d"),)),
        _with(sampling=SamplingSettings(seed=2**64)),
        _with(max_tokens="many"),
        _with(model=object()),
        Open(1, LoadRequest("/m"), 0),
        Grant(1, -1),
    ],
)
def test_what_the_engine_could_not_read_is_refused_where_it_is_made(message: ToEngine) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError, msgspec.MsgspecError)):
        encode_checked(message)


@pytest.mark.parametrize("garbage", [b"", b"\x00", b"\xc1", encode({"type": "unknown"}), encode(["hello", 1])])
def test_garbage_is_no_message(garbage: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_for_engine(garbage)

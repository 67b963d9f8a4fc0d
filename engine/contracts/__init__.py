"""The engine's contracts: frozen values that cross every border, with the Protocols of who may ask what of whom.

Only the standard library and msgspec are imported here, so that the app may import all of it and the wire can
carry it. Values are immutable; a Protocol's docstring says who owns what, who may call when, and what "done" means.
"""

from engine.contracts.cancellation import (
    CONSUMER_CLOSED,
    CONSUMER_IDLE,
    ENGINE_CLOSED,
    REQUESTED,
    Cancellation,
    SessionCancelledError,
    Unsubscribe,
)
from engine.contracts.clock import Clock, Timer
from engine.contracts.engine import Engine, EngineStatus
from engine.contracts.events import (
    Committed,
    Part,
    Progress,
    Removal,
    SessionEvent,
    TokenLogprobs,
    TokenPiece,
    TopLogprob,
)
from engine.contracts.group import ExecutionGroup, MixedDemand, Release
from engine.contracts.method import Output, Plan, Prepare, Run
from engine.contracts.models import (
    InstallRequest,
    InstallResult,
    LoadRequest,
    LoadResult,
    ModelDescription,
    ModelSource,
)
from engine.contracts.outcomes import (
    CLEANUP_FAILED,
    EXECUTION_FAILED,
    Cancelled,
    Completed,
    Failed,
    Failure,
    FinishReason,
    GenerationResult,
    Outcome,
    ScoreResult,
)
from engine.contracts.problems import Problem, ProblemError
from engine.contracts.requests import (
    CaptureSettings,
    GenerationRequest,
    Message,
    Overflow,
    PromptFit,
    Role,
    SamplingSettings,
    ScoreRequest,
)
from engine.contracts.session import EventIterator, Session, SessionState

__all__ = [
    "CLEANUP_FAILED",
    "CONSUMER_CLOSED",
    "CONSUMER_IDLE",
    "ENGINE_CLOSED",
    "EXECUTION_FAILED",
    "REQUESTED",
    "Cancellation",
    "Cancelled",
    "CaptureSettings",
    "Clock",
    "Committed",
    "Completed",
    "Engine",
    "EngineStatus",
    "EventIterator",
    "ExecutionGroup",
    "Failed",
    "Failure",
    "FinishReason",
    "GenerationRequest",
    "GenerationResult",
    "InstallRequest",
    "InstallResult",
    "LoadRequest",
    "LoadResult",
    "Message",
    "MixedDemand",
    "ModelDescription",
    "ModelSource",
    "Outcome",
    "Output",
    "Overflow",
    "Part",
    "Plan",
    "Prepare",
    "Problem",
    "ProblemError",
    "Progress",
    "PromptFit",
    "Release",
    "Removal",
    "Role",
    "Run",
    "SamplingSettings",
    "ScoreRequest",
    "ScoreResult",
    "Session",
    "SessionCancelledError",
    "SessionEvent",
    "SessionState",
    "Timer",
    "TokenLogprobs",
    "TokenPiece",
    "TopLogprob",
    "Unsubscribe",
]

"""Builds an engine; decides nothing."""

from engine.backend.group import GroupLimits
from engine.backend.local_engine import LocalEngine
from engine.backend.residents import ResidentModels
from engine.contracts import Engine
from engine.execution.session import SessionLimits
from engine.runtime.clock import AsyncioClock


def build_engine() -> Engine:
    """The engine of this process. Call it on the loop that will own it."""
    clock = AsyncioClock()
    # The host reads every session and bounds it by credit; a reader that is gone closes its pipe.
    limits = SessionLimits(idle_timeout_ms=None)
    return LocalEngine(ResidentModels(clock, GroupLimits()), clock, limits)

"""Where a session's tokens may go."""

from dataclasses import dataclass

from engine.execution.deliveries import OnTokens, Reserve


@dataclass(frozen=True)
class Stream:
    """To the session's one reader, who paces the work. Starts at the first read."""


@dataclass(frozen=True)
class Collect:
    """Into a buffer for the plan's whole limit, which the outcome shows. Starts at once."""

    reserve: Reserve


@dataclass(frozen=True)
class Callback:
    """To a function, batch by batch; once it answers `False`, no more are taken. Starts at once."""

    on_tokens: OnTokens


OutputMode = Stream | Collect | Callback

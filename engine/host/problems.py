"""What can go wrong between the app and the engine, in words."""

import signal

from engine.contracts import EXECUTION_FAILED, Failed, Failure, Problem

_KEPT = "Everything written so far is kept; send the message again."


def failed_with(problem: Problem, committed_tokens: int = 0) -> Failed:
    """The outcome of a session that `problem` ended."""
    return Failed(Failure(EXECUTION_FAILED, problem.sentence, problem=problem), committed_tokens)


def cannot_start(reason: str) -> Problem:
    """The engine process did not come up. `reason` is the end of a sentence."""
    return Problem(
        code="engine_cannot_start",
        sentence=f"The engine cannot start: {reason}.",
        remedy="Try again. If that does not help, install Candor again.",
    )


def other_version(engine: int, app: int) -> Problem:
    """The two sides come from different installations."""
    return cannot_start(f"it speaks version {engine} of the wire and the window version {app}")


def stopped(exit_code: int | None) -> Problem:
    """The engine process ended by itself. `exit_code` is negative for a signal, None when it is not known."""
    return Problem(code="engine_stopped", sentence=_how_it_stopped(exit_code), remedy=_KEPT)


def unreadable() -> Problem:
    """The engine sent what no engine of this version sends."""
    return Problem(
        code="engine_stopped", sentence="The engine was stopped: it sent something unreadable.", remedy=_KEPT
    )


def engine_closed() -> Problem:
    """A call was made, or still under way, when the app closed the engine."""
    return Problem(code="engine_closed", sentence="The engine is closed.")


def request_refused(error: Exception) -> Problem:
    """The request cannot be put on the wire. Names the error's type only: its text may quote the message."""
    return Problem(
        code="request_refused",
        sentence=f"This message cannot be sent to the engine ({type(error).__name__}).",
        remedy="Remove unusual characters, or make it shorter.",
    )


def cannot_build(error: Exception) -> Problem:
    """The engine process runs, but the model libraries do not."""
    return Problem(
        code="engine_cannot_start",
        sentence=f"The engine cannot load its libraries ({type(error).__name__}: {error}).",
        remedy="Install Candor again.",
    )


def engine_fault(error: Exception) -> Problem:
    """An error that should have been an outcome. Names its type only: its text may quote a message."""
    names = ", ".join(sorted({type(each).__name__ for each in _leaves(error)}))
    return Problem(
        code="engine_fault",
        sentence=f"The engine made a mistake ({names}).",
        remedy="Send the message again. If it happens again, report it: it is a fault of this program.",
    )


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for each in error.exceptions for leaf in _leaves(each)]
    return [error]


def _how_it_stopped(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return (
            "The engine stopped unexpectedly." if exit_code is None else f"The engine stopped (exit code {exit_code})."
        )
    if -exit_code == signal.SIGKILL:
        return "The engine was killed by the system, perhaps because memory ran out."
    try:
        return f"The engine crashed ({signal.Signals(-exit_code).name})."
    except ValueError:
        return f"The engine crashed (signal {-exit_code})."

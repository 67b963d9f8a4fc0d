"""Problems the window knows by itself, with what a button can do about one."""

import enum
from typing import Final

from engine.contracts import Failure, Problem


class Remedy(enum.StrEnum):
    """What the button beside a problem does; the value is its label."""

    GET_STARTER = "Get the starter model"
    TRY_AGAIN = "Try again"
    RESTART_ENGINE = "Restart the engine"


CANNOT_START: Final = "engine_cannot_start"
"""The code of the problem of an engine that ended before it had answered once."""

NO_MODEL: Final = Problem(
    code="no_model",
    sentence="There is no model on this machine yet.",
    remedy="The starter model is small (about 100 MB) and answers at once. Or open a folder with a model.",
)
NO_MODEL_IN_FOLDER: Final = Problem(
    code="no_model",
    sentence="There is no model in this folder.",
    remedy="Open a folder that holds config.json and safetensors files.",
)
ENGINE_STUCK: Final = Problem(
    code="engine_stuck",
    sentence="The engine does not answer.",
    remedy="Restart it, or wait. Everything written so far is kept.",
)
UNEXPECTED: Final = Problem(
    code="unexpected",
    sentence="Something went wrong inside Candor.",
    remedy="Try again. The log tells more.",
)


def problem_of(failure: Failure) -> Problem:
    """The engine's own sentence where it has one."""
    return failure.problem or UNEXPECTED

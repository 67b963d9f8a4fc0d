"""Problems the window knows by itself, with what a button can do about one."""

import enum
from typing import Final

from engine.contracts import Failure, Problem


class Remedy(enum.StrEnum):
    """What the button beside a problem does; the value is its label."""

    GET_STARTER = "Get the starter model"
    TRY_AGAIN = "Try again"


NO_MODEL: Final = Problem(
    code="no_model",
    sentence="There is no model on this machine yet.",
    remedy="The starter model is small (about 100 MB) and answers at once. Or open a folder with a model.",
)
UNEXPECTED: Final = Problem(
    code="unexpected",
    sentence="Something went wrong inside Candor.",
    remedy="Try again. The log tells more.",
)


def problem_of(failure: Failure) -> Problem:
    """The engine's own sentence where it has one."""
    return failure.problem or UNEXPECTED

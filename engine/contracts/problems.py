"""A problem in the words of the person who has to solve it."""

import msgspec


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, in one sentence, with what the user can do about it.

    `code` is stable, for tests and for views that offer an action (`model_missing`, `context_full`, ...).
    `sentence` and `remedy` are plain text for the screen; they name files and numbers, never message text.
    """

    code: str
    sentence: str
    remedy: str = ""


class ProblemError(Exception):
    """Raised inside the engine where a border knows the sentence; the session's outcome keeps the problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.sentence)
        self.problem = problem

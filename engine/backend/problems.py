"""The sentences in which the backend says what is wrong with a model, each with a remedy."""

from pathlib import Path

from engine.contracts import Problem, ProblemError

_DOWNLOAD_AGAIN = "Download the model again, or choose another one."


def model_missing(path: Path) -> ProblemError:
    """`path`, which a model folder must have, is not there."""
    return ProblemError(
        Problem(
            code="model_missing",
            sentence=f"The model in {path.parent} has no {path.name}.",
            remedy="Choose another folder, or download the model again.",
        )
    )


def model_damaged(path: Path, cause: str) -> ProblemError:
    """`path` is there, but `cause`."""
    return ProblemError(
        Problem(
            code="model_damaged",
            sentence=f"The model file {path} is damaged: {cause}.",
            remedy=_DOWNLOAD_AGAIN,
        )
    )


def architecture_unknown(folder: Path, model_type: str) -> ProblemError:
    """The model is of a kind that no class of mlx-lm implements."""
    return ProblemError(
        Problem(
            code="architecture_unknown",
            sentence=f"The model {folder.name} is of the kind “{model_type}”, which Candor does not know.",
            remedy="Choose another model.",
        )
    )


def needs_own_code(folder: Path, file_name: str) -> ProblemError:
    """The model brings program code of its own, which Candor never runs."""
    return ProblemError(
        Problem(
            code="architecture_unknown",
            sentence=f"The model {folder.name} needs its own program code ({file_name}), which Candor does not run.",
            remedy="Choose another model.",
        )
    )


def token_outside_vocabulary(token_id: int, vocabulary: int) -> ProblemError:
    """A token id that the model has no embedding for; reading it would crash the engine."""
    return ProblemError(
        Problem(
            code="token_outside_vocabulary",
            sentence=f"The text holds the token {token_id}, but this model knows only {vocabulary} tokens.",
            remedy="The model's tokenizer does not belong to its weights. " + _DOWNLOAD_AGAIN,
        )
    )


def context_full(prompt_tokens: int, context_length: int) -> ProblemError:
    """The prompt leaves no room for an answer."""
    return ProblemError(
        Problem(
            code="context_full",
            sentence=f"The conversation is {prompt_tokens:,} tokens long; this model can read {context_length:,}.",
            remedy="Shorten the message, start a new chat, or choose a model with a longer context.",
        )
    )


def memory_short(needed: int, free: int, limit: int, longest: int) -> ProblemError:
    """There is no memory for the conversation, beside those that are being answered. Bytes, and tokens that fit."""
    shorter = f"A conversation of at most {longest:,} tokens fits" if longest else "Wait until other answers have ended"
    return ProblemError(
        Problem(
            code="memory_short",
            sentence=(
                f"This conversation needs {_megabytes(needed)} of memory; "
                f"{_megabytes(free)} of {_megabytes(limit)} are free."
            ),
            remedy=f"{shorter}. Shorten it, stop other answers, or choose a smaller model.",
        )
    )


def _megabytes(count: int) -> str:
    return f"{max(0, count) / 1_000_000:,.0f} MB"


def prompt_empty() -> ProblemError:
    """There is no token to go on from."""
    return ProblemError(
        Problem(code="prompt_empty", sentence="There is nothing to answer.", remedy="Write a message first.")
    )


def group_closed() -> ProblemError:
    """The model was unloaded while the row waited or ran."""
    return ProblemError(
        Problem(code="engine_closed", sentence="The model was unloaded.", remedy="Send the message again.")
    )

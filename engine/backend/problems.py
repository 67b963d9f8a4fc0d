"""The sentences in which the backend says what is wrong with a model, each with a remedy."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from engine.contracts import Problem, ProblemError

_DOWNLOAD_AGAIN = "Download the model again, or choose another one."
_LONGEST_QUOTATION = 120


def quoted(foreign: object) -> str:
    """What a library or a file says, as one short line that any wire and screen can take."""
    line = next((line for line in str(foreign).splitlines() if line.strip()), type(foreign).__name__).strip()
    shortened = line if len(line) <= _LONGEST_QUOTATION else line[: _LONGEST_QUOTATION - 1] + "…"
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in shortened)


@contextlib.contextmanager
def blamed_on(path: Path, cause: str) -> Iterator[None]:
    """The border to foreign data: whatever the block raises becomes `model_damaged`, since `path` `cause`.

    Problems that have a sentence already pass, and so does a part of mlx-lm that cannot be imported: no file's fault.
    """
    try:
        yield
    except (ProblemError, ImportError):
        raise
    except Exception as error:  # libraries answer senseless numbers with every kind of error
        raise model_damaged(path, f"{cause} ({quoted(error)})") from error


def model_missing(path: Path) -> ProblemError:
    """`path`, which a model folder must have, is not there."""
    return ProblemError(
        Problem(
            code="model_missing",
            sentence=f"The model in {path.parent} has no {quoted(path.name)}.",
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
            sentence=f"The model {folder.name} is of the kind “{quoted(model_type)}”, which Candor does not know.",
            remedy="Choose another model.",
        )
    )


def needs_own_code(folder: Path, file_name: str) -> ProblemError:
    """The model brings program code of its own, which Candor never runs."""
    code = quoted(file_name)
    return ProblemError(
        Problem(
            code="architecture_unknown",
            sentence=f"The model {folder.name} needs its own program code ({code}), which Candor does not run.",
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

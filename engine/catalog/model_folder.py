"""What a model folder says of itself, with what keeps it from being used."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from engine.catalog.architectures import is_known_architecture
from engine.catalog.json_files import NotJsonError, read_json
from engine.catalog.safetensors_file import NotSafetensorsError, weight_bytes
from engine.catalog.shards import WEIGHTS_PATTERN, expected_shards
from engine.contracts import ModelDescription, ModelSource, Problem

CONFIG_FILE: Final = "config.json"

_TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer.model", "vocab.json", "tiktoken.model", "vocab.txt")
_LONGEST_CONTEXT: Final = 2**31
"""In tokens; larger numbers are no lengths, and from 2**64 on they cannot cross the wire."""
_LONGEST_FAMILY: Final = 100
_FETCH_AGAIN: Final = "Download the model again."
_CHOOSE_ANOTHER: Final = "Choose a model of another family."


class _Config(msgspec.Struct, frozen=True):
    """The parts of `config.json` that matter before loading."""

    model_type: str | None = None
    model_file: str | None = None
    max_position_embeddings: Any = None
    text_config: Any = None

    @property
    def context_length(self) -> int | None:
        """In tokens. Models of more than text nest the text's part; a number that makes no sense is unknown."""
        nested = self.text_config.get("max_position_embeddings") if isinstance(self.text_config, dict) else None
        return next((number for number in (self.max_position_embeddings, nested) if _is_length(number)), None)

    @property
    def family(self) -> str | None:
        """The architecture's name, fit for the wire and the screen."""
        return None if self.model_type is None else as_text(self.model_type[:_LONGEST_FAMILY])


def _is_length(number: object) -> bool:
    return type(number) is int and 1 <= number <= _LONGEST_CONTEXT


@dataclass
class _Findings:
    """What is known so far; an examination that ends early leaves the rest unknown."""

    config: _Config
    weight_bytes: int | None = None


class _UnusableError(Exception):
    """Ends the examination of a folder with the reason."""

    def __init__(self, code: str, sentence: str, remedy: str) -> None:
        super().__init__(sentence)
        self.problem = Problem(code=code, sentence=sentence, remedy=remedy)


def describe_folder(folder: Path, name: str, source: ModelSource) -> ModelDescription:
    """Describe the model in `folder`. Reads configuration and headers, never weights; raises nothing."""
    findings = _Findings(_Config())
    problem = _examine(folder, findings)
    return ModelDescription(
        id=as_text(str(folder.absolute())),
        name=as_text(name),
        source=source,
        family=findings.config.family,
        weight_bytes=findings.weight_bytes,
        context_length=findings.config.context_length,
        problem=problem,
    )


def _examine(folder: Path, findings: _Findings) -> Problem | None:
    """Fill `findings`, and say what is wrong with the folder, if anything."""
    try:
        _require_text(folder)
        findings.config = _config(folder)
        findings.weight_bytes = sum(_weight_bytes(file) for file in _weight_files(folder))
        _require_architecture(findings.config)
        _require_tokenizer(folder)
    except _UnusableError as error:
        return error.problem
    except Exception as error:  # noqa: BLE001 - the border to files from anywhere: one odd model must not hide the others
        return unreadable(folder, error)
    return None


def as_text(name: str) -> str:
    """`name` with every byte that is not text spelled out; Python keeps those as lone surrogates."""
    return name.encode("utf-8", "backslashreplace").decode()


def _require_text(folder: Path) -> None:
    """A name that is not text can neither cross the wire nor be written into settings; no file can have a NUL."""
    if "\0" in (name := str(folder)):
        raise _UnusableError("name_unreadable", "The folder's name holds a NUL character.", "Choose another folder.")
    if name != as_text(name):
        sentence = f"The folder name {as_text(folder.name)} is not valid UTF-8."
        raise _UnusableError("name_unreadable", sentence, "Rename the folder.")


def unreadable(folder: Path, error: Exception) -> Problem:
    """What was refused while `folder` was read, mostly by the operating system, as a sentence."""
    reason = (isinstance(error, OSError) and error.strerror) or type(error).__name__
    return Problem(
        code="model_unreadable",
        sentence=f"The folder {as_text(str(folder))} cannot be read: {reason}.",
        remedy="Check that it exists and that you may read it.",
    )


def _config(folder: Path) -> _Config:
    try:
        return read_json(folder / CONFIG_FILE, _Config)
    except FileNotFoundError:
        raise _UnusableError("config_missing", f"{folder.name} has no {CONFIG_FILE}.", _FETCH_AGAIN) from None
    except NotJsonError as error:
        raise _UnusableError("config_damaged", f"{CONFIG_FILE} cannot be used: {error}.", _FETCH_AGAIN) from None


def _weight_files(folder: Path) -> list[Path]:
    """Every file of weights, none of them missing."""
    present = {file.name for file in folder.glob(WEIGHTS_PATTERN) if file.is_file()}
    missing = sorted(expected_shards(folder) - present)
    if missing:
        sentence = f"A file of weights is missing: {missing[0]} ({len(missing)} in all)."
        raise _UnusableError("shard_missing", sentence, _FETCH_AGAIN)
    if not present:
        remedy = "Download the model in the safetensors format."
        raise _UnusableError("weights_missing", f"{folder.name} has no weights that can be loaded.", remedy)
    return [folder / name for name in sorted(present)]


def _weight_bytes(file: Path) -> int:
    try:
        return weight_bytes(file)
    except NotSafetensorsError as error:
        raise _UnusableError("weights_damaged", f"{file.name} cannot be used: {error}.", _FETCH_AGAIN) from None


def _require_architecture(config: _Config) -> None:
    if config.model_type is None:
        sentence = f"The model's {CONFIG_FILE} names no architecture."
    elif config.model_file is not None:
        sentence = "The model wants to run code of its own, which Candor never does."
    elif not is_known_architecture(config.model_type):
        sentence = f"Candor cannot run models of the architecture {config.family}."
    else:
        return
    raise _UnusableError("architecture_unknown", sentence, _CHOOSE_ANOTHER)


def _require_tokenizer(folder: Path) -> None:
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        raise _UnusableError("tokenizer_missing", f"{folder.name} has no tokenizer.", _FETCH_AGAIN)

"""Every model on this machine that the picker may offer."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from engine.catalog.hugging_face_cache import cache_folder, cached_models
from engine.catalog.install_record import InstallRecord
from engine.catalog.model_folder import CONFIG_FILE, as_text, describe_folder, unreadable
from engine.catalog.places import models_folder
from engine.catalog.starter import StarterInstallation, starter_installation
from engine.contracts import ModelDescription, ModelSource, Problem

_NOT_INSTALLED: Final = Problem(
    code="starter_missing",
    sentence="The starter model is not installed.",
    remedy="Install it: Candor fetches and converts it once.",
)


_DAMAGED: Final = "The starter model is damaged: its file {} is not as it was written."
_REPAIR: Final = "Install it again: Candor converts it anew."


def list_models(folders: Sequence[Path] = ()) -> tuple[ModelDescription, ...]:
    """The starter, Candor's own models, those in the Hugging Face cache, then those in `folders` the user opened.

    The starter is listed even when it is missing, a broken model with what is wrong with it, and each folder once.
    Reads configuration and headers only; whatever lies on the disk, nothing is raised.
    """
    found = [describe_starter(starter_installation())]
    found += _quietly(_own_models(models_folder()))
    found += _quietly(_hugging_face_models(cache_folder()))
    for folder in folders:
        found += _opened_models(folder)
    unique: dict[str, ModelDescription] = {}
    for model in found:
        unique.setdefault(_place(model), model)
    return tuple(unique.values())


def describe_starter(installation: StarterInstallation) -> ModelDescription:
    """The starter model, with `starter_missing` unless it is wholly in its place."""
    described = describe_folder(installation.folder, installation.manifest.name, ModelSource.STARTER)
    if installation.is_complete:
        return described
    return msgspec.structs.replace(described, problem=_not_whole(installation.damaged_file))


def _not_whole(damaged_file: str | None) -> Problem:
    """One code for both, since one action mends both."""
    if damaged_file is None:
        return _NOT_INSTALLED
    return msgspec.structs.replace(_NOT_INSTALLED, sentence=_DAMAGED.format(as_text(damaged_file)), remedy=_REPAIR)


def _own_models(models: Path) -> Iterator[ModelDescription]:
    for folder in _model_folders(models):
        record = InstallRecord.read(folder)
        yield describe_folder(folder, record.name if record else folder.name, ModelSource.OWN)


def _hugging_face_models(cache: Path) -> Iterator[ModelDescription]:
    for name, folder in cached_models(cache):
        if _looks_like_a_model(folder):
            yield describe_folder(folder, name, ModelSource.HUGGING_FACE)


def _opened_models(folder: Path) -> list[ModelDescription]:
    """The model that `folder` is, or those directly in it; a folder without any is named with that as its problem."""
    try:
        if _looks_like_a_model(folder):
            return [describe_folder(folder, folder.name, ModelSource.FOLDER)]
        inside = [describe_folder(path, path.name, ModelSource.FOLDER) for path in _model_folders(folder)]
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        return [_without_model(folder, unreadable(folder, error))]
    sentence = f"There is no model in {as_text(str(folder))}."
    remedy = f"Open a folder that holds {CONFIG_FILE} and safetensors files."
    return inside or [_without_model(folder, Problem(code="no_model", sentence=sentence, remedy=remedy))]


def _without_model(folder: Path, problem: Problem) -> ModelDescription:
    path, name = as_text(str(folder.absolute())), as_text(folder.name)
    return ModelDescription(id=path, name=name, source=ModelSource.FOLDER, problem=problem)


def _model_folders(parent: Path) -> list[Path]:
    """The folders directly in `parent` that look like models. Hidden ones are under construction."""
    return sorted(path for path in parent.iterdir() if not path.name.startswith(".") and _looks_like_a_model(path))


def _looks_like_a_model(folder: Path) -> bool:
    """It has a configuration or weights; the links in a cache count even when they lead nowhere."""
    try:
        return (folder / CONFIG_FILE).exists() or any(folder.glob("*.safetensors"))
    except (OSError, ValueError):  # a NUL in the path is a ValueError
        return False


def _quietly(models: Iterator[ModelDescription]) -> list[ModelDescription]:
    """What there is until the operating system refuses to look further: absent folders are usual here."""
    found: list[ModelDescription] = []
    with contextlib.suppress(OSError):
        found.extend(models)
    return found


def _place(model: ModelDescription) -> str:
    """Where a model really is, so that two ways to one folder are one model."""
    try:
        return str(Path(model.id).resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a NUL
        return model.id

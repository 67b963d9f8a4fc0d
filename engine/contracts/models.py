"""Models on this machine, with what can be asked of them."""

import enum

import msgspec

from engine.contracts.problems import Problem
from engine.contracts.requests import SamplingSettings


class ModelSource(enum.StrEnum):
    """Where a model was found."""

    STARTER = "starter"
    OWN = "own"
    HUGGING_FACE = "hugging_face"
    FOLDER = "folder"


class ModelDescription(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model as the picker shows it. Reading it never loads weights.

    `id` is the absolute path of the folder. `problem` says why it cannot be used, or is None. Sizes are bytes; None
    means unknown.
    """

    id: str
    name: str
    source: ModelSource
    family: str | None = None
    weight_bytes: int | None = None
    context_length: int | None = None
    problem: Problem | None = None


class LoadRequest(msgspec.Struct, frozen=True, tag="load"):
    """Make a model resident. Loading one that is resident ends at once."""

    model: str


class LoadResult(msgspec.Struct, frozen=True, kw_only=True, tag="loaded"):
    """A resident model. `context_length` is in tokens, `load_seconds` 0 when it was resident already.

    `sampling_defaults` is what the model's makers recommend, in its `generation_config.json`.
    """

    model: str
    context_length: int
    vocabulary_size: int
    weight_bytes: int
    load_seconds: float
    sampling_defaults: SamplingSettings = SamplingSettings()


class InstallRequest(msgspec.Struct, frozen=True, tag="install_starter"):
    """Fetch and convert the starter model into Candor's own folder."""


class InstallResult(msgspec.Struct, frozen=True, tag="installed"):
    """The starter model is in place."""

    model: ModelDescription

"""Every setting, declared once: its type, its default, its text on the screen."""

from typing import Any, Final, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Setting(msgspec.Struct, Generic[T], frozen=True):
    """One setting. `kind` is what a stored value must be; anything else counts as not set."""

    key: str
    kind: Any
    default: T
    text: str


DEFAULT_MODEL: Final[Setting[str | None]] = Setting("model.default", str | None, None, "Model of new chats")
MODEL_FOLDERS: Final[Setting[tuple[str, ...]]] = Setting("model.folders", tuple[str, ...], (), "Folders with models")
PRELOAD_MODEL: Final[Setting[bool]] = Setting("model.preload", bool, True, "Load the model when Candor starts")
MAX_TOKENS: Final[Setting[int | None]] = Setting("answer.max_tokens", int | None, None, "Longest answer, in tokens")
TEMPERATURE: Final[Setting[float]] = Setting("sampling.temperature", float, 0.7, "Temperature")
TOP_P: Final[Setting[float]] = Setting("sampling.top_p", float, 0.95, "Top-p")
ALTERNATIVES: Final[Setting[int]] = Setting("captures.top_k", int, 10, "Alternatives kept for each token")
HEATMAP: Final[Setting[bool]] = Setting("view.heatmap", bool, False, "Colour tokens by their probability")

ALL: Final[tuple[Setting[Any], ...]] = (
    DEFAULT_MODEL,
    MODEL_FOLDERS,
    PRELOAD_MODEL,
    MAX_TOKENS,
    TEMPERATURE,
    TOP_P,
    ALTERNATIVES,
    HEATMAP,
)

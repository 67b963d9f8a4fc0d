"""Where the engine's files are on this machine."""

import os
from pathlib import Path
from typing import Final

from platformdirs import user_data_dir

MODELS: Final = "models"
"""In the data root: one folder for each model that Candor installed."""
DOWNLOADS: Final = "downloads"
"""In the data root: files as they were fetched, verified, so that a model can be installed again off-line."""


def data_root() -> Path:
    """Candor's own folder for what it keeps: the environment variable CANDOR_HOME, or the platform's usual place."""
    if home := os.environ.get("CANDOR_HOME"):
        return Path(home).expanduser().absolute()
    return Path(user_data_dir("candor", appauthor=False))


def models_folder() -> Path:
    """Where the user's installed models are."""
    return data_root() / MODELS


def make_private_folder(path: Path) -> None:
    """Create `path`, with the parents that are missing, for its owner alone; one that exists is left as it is."""
    if not path.is_dir():
        make_private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def resources_folder() -> Path:
    """The data files that come with the program."""
    return Path(__file__).resolve().parents[2] / "resources"

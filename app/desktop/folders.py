"""Where Candor keeps the user's things."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Folders(NamedTuple):
    """Everything below one root, which only its owner may enter."""

    root: Path

    @property
    def chats(self) -> Path:
        return self.root / "candor.sqlite3"

    @property
    def settings(self) -> Path:
        return self.root / "settings.json"

    @property
    def log(self) -> Path:
        return self.root / "logs" / "candor.log"

    @property
    def lock(self) -> Path:
        return self.root / "candor.lock"


def locate(environment: Mapping[str, str] = os.environ) -> Folders:
    """`CANDOR_HOME` when set, else the platform's place for an application's files."""
    if home := environment.get("CANDOR_HOME"):
        return Folders(Path(home).expanduser().absolute())
    # Costs 8 ms to import, which a start with CANDOR_HOME need not pay.
    from platformdirs import user_data_path

    return Folders(user_data_path("candor", appauthor=False))


def make_private(folders: Folders) -> None:
    """Create the folders for their owner alone. Raises `OSError`."""
    for folder in (folders.root, folders.log.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)

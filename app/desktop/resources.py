"""Where the files that ship with Candor are."""

import sys
from pathlib import Path


def resource(name: str) -> Path:
    """The path of `resources/<name>`: beside the code in a checkout, in `Contents/Resources` inside a bundle."""
    return _root() / name


def _root() -> Path:
    if getattr(sys, "frozen", None) == "macosx_app":
        return Path(sys.executable).parents[1] / "Resources" / "resources"
    return Path(__file__).parents[2] / "resources"

"""The models in the Hugging Face cache.

Its layout is https://huggingface.co/docs/huggingface_hub/guides/manage-cache: snapshots of links into blobs.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = "models--"
_REVISION: Final = "main"
_MAX_REF_BYTES: Final = 200


def cache_folder() -> Path:
    """The cache of this user, by the environment variables that `huggingface_hub` obeys, in its order."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if cache := os.environ.get(variable):
            return Path(cache).expanduser()
    if home := os.environ.get("HF_HOME"):
        return Path(home).expanduser() / "hub"
    general = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(general).expanduser() / "huggingface" / "hub"


def cached_models(cache: Path) -> Iterator[tuple[str, Path]]:
    """Each repository of a model in `cache`, by name (`owner/model`), with the folder of its current snapshot."""
    for repository in sorted(cache.glob(_PREFIX + "*")):
        if snapshot := _current_snapshot(repository):
            yield repository.name.removeprefix(_PREFIX).replace("--", "/"), snapshot


def _current_snapshot(repository: Path) -> Path | None:
    """The snapshot that `refs/main` names; without it, the newest."""
    snapshots = repository / "snapshots"
    try:
        with (repository / "refs" / _REVISION).open("rb") as ref:
            commit = ref.read(_MAX_REF_BYTES).decode(errors="replace").strip()
        if commit and (named := snapshots / Path(commit).name).is_dir():
            return named
    except OSError:
        pass  # no reference, or one that names nothing
    existing = [folder for folder in snapshots.glob("*") if folder.is_dir()]
    return max(existing, key=lambda folder: folder.stat().st_mtime, default=None)

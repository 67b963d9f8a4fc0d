"""The starter model as the program's resources describe it."""

from pathlib import Path

import msgspec

from engine.catalog.places import resources_folder


class StarterManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which file of which package is the starter model, with the hashes (SHA-256, hex) that prove it."""

    name: str
    folder: str
    licence: str
    package: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    member_sha256: str
    member_bytes: int

    @property
    def requirement(self) -> str:
        """The package as pip wants it named."""
        return f"{self.package}=={self.version}"

    @property
    def file_name(self) -> str:
        """The model file's name without its folders."""
        return Path(self.member).name


def read_manifest(path: Path | None = None) -> StarterManifest:
    """Read the manifest at `path`, or the program's own."""
    source = path or resources_folder() / "starter.json"
    return msgspec.json.decode(source.read_bytes(), type=StarterManifest)

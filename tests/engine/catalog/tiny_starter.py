"""A small model in a wheel, with the manifest that describes it."""

import hashlib
import zipfile
from pathlib import Path

from engine.catalog.manifest import StarterManifest

PACKAGE = "tiny-model"
VERSION = "0.1"
MEMBER = "tiny_model/tiny.gguf"
METADATA = f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {VERSION}\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(folder: Path, model: Path) -> Path:
    """A wheel that pip accepts, holding the file `model`."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"tiny_model-{VERSION}-py3-none-any.whl"
    information = f"tiny_model-{VERSION}.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(model, MEMBER)
        archive.writestr(f"{information}/METADATA", METADATA)
        archive.writestr(f"{information}/WHEEL", WHEEL)
        archive.writestr(f"{information}/RECORD", "")
    return wheel


def manifest_of(wheel: Path, model: Path) -> StarterManifest:
    """The manifest that `wheel` with `model` in it satisfies."""
    return StarterManifest(
        name="Tiny",
        folder="tiny-instruct",
        licence="MIT",
        package=PACKAGE,
        version=VERSION,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        wheel_bytes=wheel.stat().st_size,
        member=MEMBER,
        member_sha256=hashlib.sha256(model.read_bytes()).hexdigest(),
        member_bytes=model.stat().st_size,
    )

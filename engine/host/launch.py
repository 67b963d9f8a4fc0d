"""The start of the engine process."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
BUILD_ENGINE: Final = "engine.assembly:build_engine"
_OPENBLAS: Final = "openblas-pthread/libblas.so.3"
_LAST_WORDS_BYTES: Final = 4096


class LaunchedEngine:
    """A running engine process with the app's end of the socket. Whoever launched it sees to its end."""

    def __init__(self, child: subprocess.Popen[bytes], sock: socket.socket, log: IO[bytes]) -> None:
        self._child = child
        self._log = log
        self.sock = sock

    def poll(self) -> int | None:
        """The exit code, negative for a signal, or None while it runs. Reaps the process; never blocks."""
        return self._child.poll()

    def kill(self) -> None:
        """End it at once."""
        self._child.kill()

    def last_words(self) -> str:
        """The last line on its standard error, at most 200 characters; empty when there is none.

        Only of use, and only safe to show, before the first request: later it might quote a message.
        """
        end = os.fstat(self._log.fileno()).st_size
        tail = os.pread(self._log.fileno(), _LAST_WORDS_BYTES, max(0, end - _LAST_WORDS_BYTES))
        lines = tail.decode(errors="replace").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        """Let go of the log, once the process has ended."""
        self._log.close()


def launch_engine(log: Path | None = None, engine: str = BUILD_ENGINE) -> LaunchedEngine:
    """Start the engine process. Raises OSError when that is impossible.

    `log` gets its standard error; only the owner may read it, and the log of the run before is kept beside it. None,
    or a place that cannot be written, keeps it in an unnamed file. `engine` is the `module:function` that builds it.
    """
    output = _open_log(log)
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            child = subprocess.Popen(
                command(theirs.fileno(), engine),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(),
                # A session of its own, so that Ctrl+C in a terminal reaches the app alone.
                start_new_session=True,
            )
        except OSError:
            ours.close()
            output.close()
            raise
    return LaunchedEngine(child, ours, output)


def command(fd: int, engine: str) -> Sequence[str]:
    """The command line. `-P` keeps the folder the app was started in out of the child's modules."""
    return [sys.executable, "-P", "-m", "engine.host", "--fd", str(fd), "--engine", engine]


def environment() -> dict[str, str]:
    """The app's own, with the project's folder importable and, on Linux, a fast BLAS."""
    variables = dict(os.environ)
    paths = [str(PROJECT_ROOT), variables.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    blas = _find_openblas()
    if blas is not None:
        variables["LD_PRELOAD"] = ":".join(filter(None, [str(blas), variables.get("LD_PRELOAD", "")]))
    return variables


def _find_openblas() -> Path | None:
    """MLX for Linux brings a slow reference BLAS; Debian's OpenBLAS reads prompts about ten times faster."""
    if sys.platform != "linux":
        return None
    return next(iter(sorted(Path("/usr/lib").glob(f"*-linux-gnu/{_OPENBLAS}"))), None)


def _open_log(path: Path | None) -> IO[bytes]:
    """The file at `path`; an unnamed one without a path, or where none can be written: answers matter more."""
    if path is None:
        return tempfile.TemporaryFile()
    try:
        return _open_named_log(path)
    except OSError:
        return tempfile.TemporaryFile()


def _open_named_log(path: Path) -> IO[bytes]:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        path.replace(path.with_name(f"{path.stem}.previous{path.suffix}"))
    return open(path, "wb+", opener=_open_private)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

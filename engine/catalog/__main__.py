"""The command that installs the starter model: `python -m engine.catalog`."""

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import BinaryIO, Final

from engine.catalog.install_messages import Advanced, Installed, InstallMessage, Refused, encode_line
from engine.catalog.starter import CONVERTING, DOWNLOADING, starter_installation
from engine.contracts import ProblemError

_LINES: Final = {DOWNLOADING: "Fetching the starter model ({size} MB)", CONVERTING: "Converting it ({size} MB)"}

Tell = Callable[[InstallMessage], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the starter model unless it is there. Returns the exit status: 1 with one sentence on a problem."""
    parser = argparse.ArgumentParser(
        prog="python -m engine.catalog", description="Fetch and convert the starter model."
    )
    parser.add_argument("--json", action="store_true", help="tell progress as JSON lines; end when stdin closes")
    signal.signal(signal.SIGTERM, _exit_by_signal)
    if parser.parse_args(arguments).json:
        tell = _json_teller(_private_stdout())
        threading.Thread(target=_end_with_starter, daemon=True).start()
    else:
        tell = _line_teller()
    return _install(tell)


def _install(tell: Tell) -> int:
    try:
        folder = starter_installation().install(lambda *progress: tell(Advanced(*progress)))
    except ProblemError as error:
        tell(Refused(error.problem))
        return 1
    tell(Installed(str(folder)))
    return 0


def _line_teller() -> Tell:
    """Say each phase once, in words; a model that was in place is not worth a word."""
    said: set[str] = set()

    def tell(message: InstallMessage) -> None:
        match message:
            case Advanced(phase, _, total):
                if phase in _LINES and phase not in said:
                    said.add(phase)
                    _say(_LINES[phase].format(size=round((total or 0) / 1e6)))
            case Installed(folder) if said:
                _say(f"The starter model is in {folder}")
            case Installed():
                pass
            case Refused(problem):
                sys.stderr.write(f"{problem.sentence} {problem.remedy}\n")

    return tell


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _json_teller(output: BinaryIO) -> Tell:
    def tell(message: InstallMessage) -> None:
        output.write(encode_line(message))
        output.flush()

    return tell


def _private_stdout() -> BinaryIO:
    """The pipe to our starter, out of reach of libraries: what they print goes to stderr."""
    private = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return private


def _end_with_starter() -> None:
    """Wait until the process that started us closes the pipe, or dies, and end as if it had asked for it."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _exit_by_signal(number: int, _frame: FrameType | None) -> None:
    """Leave through every `finally`, so that nothing half made stays."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    sys.exit(main())

"""What an installing process tells the one that started it, a JSON line each."""

import msgspec

from engine.contracts import Problem


class Advanced(msgspec.Struct, frozen=True, tag="advanced"):
    """`completed` of `total` bytes of a phase are done."""

    phase: str
    completed: float
    total: float | None


class Installed(msgspec.Struct, frozen=True, tag="installed"):
    """The model is in `folder`. The last message of a process that succeeds."""

    folder: str


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The model could not be installed. The last message of a process that fails."""

    problem: Problem


InstallMessage = Advanced | Installed | Refused


def encode_line(message: InstallMessage) -> bytes:
    """One line for the pipe."""
    return msgspec.json.encode(message) + b"\n"


def decode_line(line: bytes) -> InstallMessage:
    """The message in one line. Raises msgspec.MsgspecError for anything else."""
    return msgspec.json.decode(line, type=InstallMessage)

"""One Candor at a time for one set of conversations."""

import fcntl
import os
from pathlib import Path
from typing import Self


class InstanceLock:
    """Held from `take` until `release`, or until the process ends in whatever way."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """The lock, or None while another process holds it. Raises `OSError` where no lock file can be made."""
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(descriptor)

    def release(self) -> None:
        """Call once."""
        os.close(self._descriptor)

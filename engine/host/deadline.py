"""The certain end of an engine whose app has gone."""

import os
import select
import threading
import time
from typing import Final

LOOK_SECONDS: Final = 0.1
GRACE_SECONDS: Final = 0.7
EXIT_OVERDUE: Final = 75


class ExitDeadline:
    """Ends the process within a second of the app's death, whatever the engine is doing.

    The engine's loop notices the death too and closes in order, but it cannot notice anything while one forward pass
    blocks it, and `aclose` may hang. Hence the only other thread of the process: it looks at the socket and the parent,
    shares no state with the engine, touches no MLX array, and its one act is `os._exit`.
    """

    def __init__(self, sock_fd: int) -> None:
        # A descriptor of its own: the number of one that the loop has closed may already mean another file.
        self._fd = os.dup(sock_fd)
        self._parent = os.getppid()

    def start(self) -> None:
        """Begin to watch; the thread does not keep the process alive."""
        threading.Thread(target=self._watch, name="exit-deadline", daemon=True).start()

    def _watch(self) -> None:
        while not self._is_orphaned():
            time.sleep(LOOK_SECONDS)
        time.sleep(GRACE_SECONDS)
        os._exit(EXIT_OVERDUE)

    def _is_orphaned(self) -> bool:
        """The parent's death counts apart: another process may have inherited its end of the socket."""
        poll = select.poll()
        poll.register(self._fd, select.POLLHUP)
        return any(state & select.POLLHUP for _, state in poll.poll(0)) or os.getppid() != self._parent

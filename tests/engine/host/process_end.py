"""Waiting for the end of a process that is no child of ours."""

import os
import select
import sys


def has_ended_within(seconds: float, pid: int) -> bool:
    """Whether process `pid` ends in time; asks the system to tell, and does not poll."""
    if sys.platform == "darwin":
        return _ended_by_kqueue(seconds, pid)
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


if sys.platform == "darwin":

    def _ended_by_kqueue(seconds: float, pid: int) -> bool:
        queue = select.kqueue()
        exit_event = select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
        try:
            return bool(queue.control([exit_event], 1, seconds))
        except ProcessLookupError:
            return True
        finally:
            queue.close()

"""The execution core: sessions, the scheduler of one group, and the sampling of one request.

Where the reference implementation was wrong, or left a choice to Python, this is what was decided. Each line has a test
of the same number in `tests/engine/execution` or, for what a scenario records, in `tests/engine/conformance`.

Sessions:
L1  A failing release of plan or reservation makes the outcome `cleanup_failed`; a failing timer stop or unsubscribe
    goes to the loop's exception handler. Every step of ending is tried, and the outcome always settles.
L2  Awaited by the session's own work, `cancel`, `close` and `aclose` return at once, and `outcome` is refused.
L3  A failing terminal hook goes to the loop's exception handler.
L4  Room and event have no wait in between, so nothing is queued after a cancellation.
L5  A publication still blocked when the method returns is refused; the session ends after it has ended.
L6  A callback still running when the method returns is waited for before the run is closed.
L7  An empty reason is a reason.
L8  Limits that let nothing pass are refused when they are made.
L9  Every listener is told; what one raises goes to the loop's exception handler, and the cancellation takes effect.
L10 The outcome's reason is the first one recorded, however deep the call was nested.
L11 A plan that became no run is released.
L12 Kept: no bound on a method that ignores cancellation (the engine is a process, and can be ended), and none on the
    time that unread events stay readable; their number is bounded by the queue.
L13 Kept: no idle time runs during a read. A reader whose task is cancelled counts as away (P2), one that is
    garbage as closed (P4), and one in another process is watched by its host through `external`.
L14 Kept: the hook may run inside the constructor. It is given the session, and owners look at `state` first.
L15 A callback gets a batch of its own, as immutable as an event.
L16 The copy is made when `commit` is called, not when there is room.

Scheduler:
L17 A burst in which nothing moves lasts a bounded number of turns, and every turn of one lets the loop run.
L18 Tasks that a group cannot run do not count.
L19 A hold that comes while the device is waited for, and keeps something back, starts the turn anew, with a prune.
L20 A close during preparation keeps the active rows from being advanced once more.
L21 Kept: an error that is no row's own ends the driver; `fail_all` obliges the group to refuse what comes later.
L22 Kept: the device is held as long as there is work. A wait for it is the group's to end when it closes.
L23 Kept: `wait_for_work` is level-triggered, and is followed by a turn of the loop, so that it cannot spin.

Row sampling:
L24 Kept as recorded: sampling a step again replaces its captures only by newer ones; `discard` frees them first.
L25 Kept as recorded: emission counts. `skip` keeps the count in step with a token that is never emitted.

Python:
P1  Whoever waits for an outcome waits shielded.
P2  A cancelled read clears the way for the next, restarts the idle time and takes no event.
P3  A cancelled session task cancels the session as `engine_closed`, then closes and settles as ever.
P4  `async with`, `aclose`, or dropping the last reference to the reader closes the session; so a `break` leaks nothing.
P5  `prepare` is called inside the constructor or first read; the task for the rest is held, and settles even if it is
    cancelled before its first turn.
P6  An event that has woken its reader is not dropped by a cancellation that overtakes the reader.
P7  Yields suspend. A cancelled driver fails every row, gives everything back, and stays cancelled.
P8  Token ids and limits are exactly `int`: no bool, no float. Progress is finite by name.
P9  Absent is None: zero, empty lists and empty reasons are values.
P10 A publication from another thread's loop is refused; `run_coroutine_threadsafe` hands it over.
P11 A collect outcome keeps a view of the lent buffer, which its lender must not use again.
"""

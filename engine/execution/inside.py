"""Whether code runs on behalf of a session."""

from contextvars import Context, ContextVar, copy_context

_owners: ContextVar[frozenset[object]] = ContextVar("sessions_worked_for", default=frozenset())


def entered(owner: object) -> Context:
    """A copy of the current context for code that works for `owner`, with every task that it starts."""
    context = copy_context()
    context.run(_owners.set, _owners.get() | {owner})
    return context


def is_inside(owner: object) -> bool:
    """Whether the current code works for `owner`, so that waiting for the end of `owner` would never end."""
    return owner in _owners.get()

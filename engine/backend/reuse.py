"""Where rows get their caches from, with what becomes of them afterwards."""

import copy
import logging

from engine.backend.cache_kinds import can_always_cut, create_caches
from engine.backend.loading import LoadedModel
from engine.backend.prefix_store import PrefixStore
from engine.backend.work import RowWork

_LOG = logging.getLogger(__name__)


class CacheReuse:
    """The prefix store of one group as its rows use it."""

    def __init__(self, loaded: LoadedModel, store: PrefixStore) -> None:
        self._loaded = loaded
        self._store = store

    def supply(self, work: RowWork) -> None:
        """Give a row its first caches: those of the longest stored prefix of its ids, or empty ones."""
        caches, work.read = self._store.take(work.ids, work.reusable)
        work.caches = caches or create_caches(self._loaded.model)
        work.cached = work.read

    def remember_prompt(self, work: RowWork) -> None:
        """Keep a copy of caches that cannot be cut back to the prompt later, before the row decodes on in them."""
        if work.caches and not can_always_cut(work.caches):
            self._put(work, copy.deepcopy(work.caches))

    def keep(self, work: RowWork) -> None:
        """Take the caches of a row that is done, however it ended."""
        caches, work.caches = work.caches, None
        if caches:
            self._put(work, caches)

    def _put(self, work: RowWork, caches: list[object]) -> None:
        try:
            self._store.put(work.ids[: work.read], caches)
        except Exception:  # noqa: BLE001 - a border: a row's outcome never depends on what is kept of it
            _LOG.exception("A row's caches could not be kept")

"""What the scheduler holds while there is work: the model in memory, and the device."""

from engine.contracts import ExecutionGroup, Release
from engine.runtime.disposal import dispose_all


class Leases:
    """Residency, then execution; taken at the first turn with work, given back in reverse order."""

    def __init__(self, group: ExecutionGroup) -> None:
        self._group = group
        self._residency: Release | None = None
        self._execution: Release | None = None

    async def take(self) -> bool:
        """Take what is not held yet. True if the device had to be waited for, so that the world may have changed."""
        if self._residency is None:
            self._residency = self._group.reserve_residency()
        if self._execution is not None or not self._group.shares_execution:
            return False
        self._execution = await self._group.acquire_execution()
        return True

    def release(self) -> None:
        """Give back both, each once, even if the first one fails."""
        execution, self._execution = self._execution, None
        residency, self._residency = self._residency, None
        dispose_all("leases were not given back", *(held for held in (execution, residency) if held is not None))

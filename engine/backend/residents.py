"""The models that are in memory, each with its own group and driver."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import mlx.core as mx

from engine.backend.group import GroupLimits, MlxExecutionGroup
from engine.backend.loading import LoadedModel, check_forward, load_model
from engine.contracts import Cancellation, Clock, Problem, ProblemError
from engine.execution.scheduler import drive
from engine.runtime.turns import let_the_loop_catch_up
from engine.text.model import TextModel

LOAD_SLICE_BYTES = 64 << 20
"""Weights read between two looks at the loop: about 30 ms from a warm disk."""

LoadProgress = Callable[[float, float], Awaitable[None]]


class ResidentModel:
    """One loaded model: weights, text, rows. Owned by `ResidentModels`; users hold it with `retain` and let go once."""

    def __init__(self, loaded: LoadedModel, text: TextModel, group: MlxExecutionGroup, clock: Clock) -> None:
        self.loaded = loaded
        self.text = text
        self.group = group
        self._users = 0
        driving = drive(group, clock, give_way=let_the_loop_catch_up)
        self._driver = asyncio.create_task(driving, name=f"scheduler of {loaded.folder.name}")

    @property
    def is_in_use(self) -> bool:
        return self._users > 0

    def retain(self) -> Callable[[], None]:
        """Keep the model in memory until the returned function is called (once or more)."""
        self._users += 1
        held = iter([True])

        def let_go() -> None:
            if next(held, False):
                self._users -= 1

        return let_go

    async def unload(self) -> None:
        """End every row and give the memory back."""
        self.group.close()
        await self._driver
        self.loaded.unload()


class ResidentModels:
    """Loads models on demand, one at a time. A model without users makes room for the next one that is loaded."""

    def __init__(self, clock: Clock, limits: GroupLimits) -> None:
        self._clock = clock
        self._limits = limits
        self._residents: dict[str, ResidentModel] = {}
        self._loading = asyncio.Lock()

    def __iter__(self) -> Iterator[ResidentModel]:
        return iter(self._residents.values())

    def find(self, model: str) -> ResidentModel | None:
        """The model if it is in memory."""
        return self._residents.get(model)

    async def obtain(
        self, model: str, cancellation: Cancellation, progress: LoadProgress | None = None
    ) -> ResidentModel:
        """The model, loaded if need be. `progress` gets bytes read and in all.

        Raises `ProblemError` when the folder does not hold a usable model, and `SessionCancelledError` between two
        slices once cancelled; a load that is given up leaves nothing in memory.
        """
        folder = _folder_of(model)
        async with self._loading:
            cancellation.raise_if_cancelled()
            if (resident := self._residents.get(model)) is not None:
                return resident
            await self._make_room()
            self._residents[model] = resident = await self._load(folder, cancellation, progress)
            return resident

    async def _load(self, folder: Path, cancellation: Cancellation, progress: LoadProgress | None) -> ResidentModel:
        text = TextModel.load(folder)
        loaded = load_model(folder)
        try:
            async for done in _slices(loaded):
                cancellation.raise_if_cancelled()
                if progress is not None:
                    await progress(done, loaded.weight_bytes)
            check_forward(loaded)
        except BaseException:
            loaded.unload()
            raise
        return ResidentModel(loaded, text, MlxExecutionGroup(loaded, self._clock, self._limits), self._clock)

    async def _make_room(self) -> None:
        for name, resident in list(self._residents.items()):
            if not resident.is_in_use:
                del self._residents[name]
                await resident.unload()

    async def aclose(self) -> None:
        """Unload everything."""
        while self._residents:
            _, resident = self._residents.popitem()
            await resident.unload()


def _folder_of(model: str) -> Path:
    if not model or "\0" in model:
        sentence = "The request does not name a model's folder."
        raise ProblemError(Problem(code="model_missing", sentence=sentence, remedy="Choose a model."))
    return Path(model)


async def _slices(loaded: LoadedModel) -> AsyncIterator[int]:
    """Read the mapped weights slice by slice; yields the bytes read so far, and lets the loop run in between."""
    read = size = 0
    batch: list[mx.array] = []
    for weight in loaded.weights():
        batch.append(weight)
        size += weight.nbytes
        if size >= LOAD_SLICE_BYTES:
            mx.eval(batch)
            read += size
            batch, size = [], 0
            yield read
            await asyncio.sleep(0)
    mx.eval(batch)
    yield read + size

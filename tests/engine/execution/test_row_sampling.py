"""Captures that are freed on request, which no scenario asks for."""

from collections.abc import Sequence

from engine.contracts import TokenLogprobs
from engine.execution.row_sampling import RowSampling, Sample


class Capturing:
    """Samples tokens `t0`, `t1`, ... with captures that bear the logits' name."""

    captures_logprobs = True
    is_plain_greedy = False

    def sample(self, logits: str | None, step: int) -> Sample[str, str]:
        return Sample(f"t{step}", logits)

    def dispose(self) -> None:
        """It holds nothing."""


class Names:
    """Arrays are names; what is freed and read is listed."""

    def __init__(self) -> None:
        self.freed: list[str | None] = []
        self.read_names: list[str | None] = []

    def start(self, arrays: Sequence[str]) -> None:
        """Names need no evaluation."""

    def free(self, array: str) -> None:
        self.freed.append(array)

    def arrays_of(self, extras: str | None) -> Sequence[str]:
        return [] if extras is None else [extras]

    def read(self, extras: str | None) -> TokenLogprobs | None:
        self.read_names.append(extras)
        return None

    def free_extras(self, extras: str | None) -> None:
        self.freed.append(extras)


def sampling() -> tuple[RowSampling[str | None, str, str], Names]:
    names = Names()
    return RowSampling(Capturing(), names, lambda *_: None), names


def test_l24_a_step_sampled_again_without_captures_keeps_the_older_ones_as_recorded() -> None:
    rows, names = sampling()
    rows.sample("old", 0)
    rows.sample(None, 0)
    rows.sink(7, None)

    assert names.read_names == ["old"]


def test_l24_a_step_that_is_discarded_first_keeps_nothing_of_the_older_sample() -> None:
    rows, names = sampling()
    rows.sample("old", 0)
    rows.discard(0)
    rows.discard(0)
    rows.sample(None, 0)
    rows.sink(7, None)

    assert names.freed == ["old"]
    assert names.read_names == [None]


def test_l25_a_token_that_is_skipped_takes_its_captures_with_it() -> None:
    rows, names = sampling()
    for step, logits in enumerate(["a", "b", None, "d"]):
        rows.sample(logits, step)
    rows.sink(1, None)
    rows.skip()
    rows.skip()
    rows.sink(4, None)

    assert names.read_names == ["a", "d"]
    assert names.freed == ["b"]


def test_l25_what_is_sampled_after_disposal_is_freed_by_the_next_disposal() -> None:
    rows, names = sampling()
    rows.dispose()
    rows.sample("late", 0)
    rows.dispose()
    rows.dispose()

    assert names.freed == ["late"]

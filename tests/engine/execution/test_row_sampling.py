"""Captures that are freed on request, which no scenario asks for."""

from collections.abc import Sequence

from engine.contracts import TokenLogprobs
from engine.execution.row_sampling import RowSampling, Sample


class FakeSampler:
    """Samples tokens `t0`, `t1`, ... with captures that bear the logits' name."""

    def __init__(self, *, captures: bool = True, greedy: bool = True) -> None:
        self.captures_logprobs = captures
        self.is_plain_greedy = greedy
        self.disposals = 0

    def sample(self, logits: str | None, step: int) -> Sample[str, str]:
        return Sample(f"t{step}", logits)

    def dispose(self) -> None:
        self.disposals += 1


class Names:
    """Arrays are names; what is freed and read is listed."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.freed: list[str | None] = []
        self.read_names: list[str | None] = []

    def start(self, arrays: Sequence[str]) -> None:
        self.started.append(list(arrays))

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
    return RowSampling(FakeSampler(), names, lambda *_: None), names


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


def test_without_captures_everything_passes_straight_through() -> None:
    def sink(_token: int, _logprobs: TokenLogprobs | None) -> None:
        """Never called: whoever emits has the sink itself."""

    sampler, names = FakeSampler(captures=False), Names()
    rows: RowSampling[str | None, str, str] = RowSampling(sampler, names, sink)

    assert rows.sample("extras of no interest", 0) == "t0"
    assert rows.sink is sink
    assert rows.is_plain_greedy
    rows.dispose()
    rows.dispose()
    assert sampler.disposals == 2
    assert (names.started, names.freed, names.read_names) == ([], [], [])


def test_a_sampler_that_is_not_greedy_is_not_said_to_be() -> None:
    rows: RowSampling[str | None, str, str] = RowSampling(FakeSampler(captures=False, greedy=False), Names(), print)

    assert not rows.is_plain_greedy

"""The changes that the mutation check makes."""

from tests.mutation.mutants import mutants

SOURCE = '''"""A module."""

def clamp(x: int | None, low: int) -> int | None:
    """At least `low`."""
    if x < low and not x:
        self.seen = True
        log(x)
    return x + 1
'''


def test_every_place_is_changed_once_in_every_way() -> None:
    found = [(mutant.line, mutant.what) for mutant in mutants(SOURCE)]

    assert sorted(found) == [
        (5, "Lt -> LtE"),
        (5, "and <-> or"),
        (5, "condition negated"),
        (5, "not x -> x"),
        (5, "without `not x`"),
        (5, "without `x < low`"),
        (6, "True -> False"),
        (6, "self.seen = True removed"),
        (7, "log(x) removed"),
        (8, "1 -> 2"),
        (8, "Add -> Sub"),
        (8, "return None"),
    ]


def test_every_mutant_is_a_module_that_differs_in_one_place() -> None:
    original = set(next(mutants(SOURCE)).source.splitlines())

    for mutant in mutants(SOURCE):
        compile(mutant.source, "mutant", "exec")
        assert len(set(mutant.source.splitlines()) - original) <= 2

"""Runs the measurements: `python -m tests.bench [name]`; a table on screen and `build/bench.json`."""

import importlib
import json
import sys
from pathlib import Path

from tests.bench._figure import Figure

RESULTS = Path("build/bench.json")


def benches() -> list[str]:
    """Every module beside this one that measures something."""
    return sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))


def measure(name: str) -> list[Figure]:
    """Run one bench: each offers `figures()`."""
    figures: list[Figure] = importlib.import_module(f"tests.bench.{name}").figures()
    for figure in figures:
        print(f"{figure['name']:<48} {figure['value']:>12.4g} {figure['unit']:<14} {figure['versus']}", flush=True)
    return figures


def main(only: list[str]) -> int:
    """Measure all, or the ones named; figures of other benches in the file are kept."""
    known = benches()
    if unknown := set(only) - set(known):
        print(f"no such bench: {', '.join(sorted(unknown))}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    measured = [figure for name in only or known for figure in measure(name)]
    names = {figure["name"] for figure in measured}
    kept = json.loads(RESULTS.read_text()) if only and RESULTS.exists() else []
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([row for row in kept if row["name"] not in names] + measured, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

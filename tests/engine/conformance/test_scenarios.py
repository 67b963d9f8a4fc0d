"""Every recorded scenario, one test each; `CONFORMANCE_DIR` names a folder of more."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conformance.compare import compare
from tests.engine.conformance.rows_adapter import play_rows
from tests.engine.conformance.scheduler_adapter import play_scheduler
from tests.engine.conformance.session_adapter import play_session

HERE = Path(__file__).parent
FOLDERS = (
    [Path(os.environ["CONFORMANCE_DIR"])] if os.environ.get("CONFORMANCE_DIR") else [HERE / "scenarios", HERE / "more"]
)
PLAYERS = {"session": play_session, "scheduler": play_scheduler, "row_sampling": play_rows}

# Its subject, the order of the checks, holds: see `test_decisions`. But its script leaves a publication blocked when
# the method returns, and so it also records the defect of `session_detached_commit_after_end`: late tokens.
RECORDS_A_DEFECT_ASIDE = {"session_overlap_checked_first"}


def scenarios() -> list[Any]:
    """One case a file."""
    return [_case(path) for folder in FOLDERS for path in sorted(folder.rglob("*.json"))]


def _case(path: Path) -> Any:
    scenario = json.loads(path.read_text())
    defect = pytest.mark.xfail(reason="records tokens delivered after the outcome", strict=True)
    return pytest.param(scenario, id=path.stem, marks=[defect] if path.stem in RECORDS_A_DEFECT_ASIDE else [])


def has_no_room(scenario: dict[str, Any]) -> bool:
    """Whether nothing could ever pass: the reference takes such capacities, this port refuses them."""
    resources = scenario.get("resources", {})
    return any(resources.get(name, 1) < 1 for name in ("maxQueuedEvents", "maxQueuedTokens"))


@pytest.mark.parametrize("scenario", scenarios())
async def test_the_core_does_what_the_scenario_recorded(scenario: dict[str, Any]) -> None:
    play = PLAYERS[scenario["kind"]]
    if scenario["port"] == "must":
        assert compare(scenario["kind"], scenario["expect"], await play(scenario)) == []
    elif has_no_room(scenario):
        with pytest.raises(ValueError, match="room"):
            await play(scenario)
    else:
        # A defect of the reference: what this port does instead is in `test_decisions`. Here it must only come through.
        record = await play(scenario)
        assert len(record.get("steps", [])) == len(scenario["expect"].get("steps", []))

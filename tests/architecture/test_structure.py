"""The structure that the code keeps to, checked on every file."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for folder in ("app", "engine", "tests", "packaging") for path in (ROOT / folder).rglob("*.py"))
CONTRACTS = sorted((ROOT / "engine" / "contracts").glob("*.py"))


def _imported_modules(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    return modules


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 50
    assert len(CONTRACTS) > 8


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_at_most_300_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_its_one_responsibility_in_its_first_line(path: Path) -> None:
    source = path.read_text()
    assert not source.strip() or ast.get_docstring(ast.parse(source)), f"{path} has no docstring"


@pytest.mark.parametrize("path", CONTRACTS, ids=lambda path: path.stem)
def test_contracts_import_only_the_standard_library_and_msgspec(path: Path) -> None:
    foreign = {
        module
        for module in _imported_modules(path)
        if module.split(".")[0] not in {*sys.stdlib_module_names, "msgspec"}
        and not module.startswith("engine.contracts")
    }
    assert not foreign


def test_importing_the_contracts_loads_nothing_else_of_the_engine() -> None:
    script = "import sys, engine.contracts; print([m for m in sys.modules if m.startswith('engine.')])"
    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "engine.contracts" in loaded
    assert all(name.startswith("engine.contracts") for name in ast.literal_eval(loaded))

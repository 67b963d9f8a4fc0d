"""Which model types mlx-lm can run, found out without importing it.

Importing mlx_lm takes seconds; its folder tells the same: one module for each architecture.
"""

import ast
import functools
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_ALIASES: Final = "MODEL_REMAPPING"
"""The table in `mlx_lm/utils.py` of types that another architecture's module runs."""
_DEFINES_A_MODEL: Final = re.compile(r"\bModelArgs\b")
"""Modules that architectures share, such as caches, lie in the same folder; they have no arguments of a model."""


def is_known_architecture(model_type: str) -> bool:
    """Whether the mlx-lm in this environment has a module for `model_type`; False when there is no mlx-lm."""
    package = _package_folder()
    if package is None:
        return False
    name = _aliases(package).get(model_type, model_type)
    # Compared with names that exist, so that a type with a path in it reaches no other file.
    module = next((file for file in (package / "models").glob("*.py") if file.stem == name), None)
    return module is not None and _DEFINES_A_MODEL.search(module.read_text(errors="replace")) is not None


@functools.cache
def _package_folder() -> Path | None:
    spec = importlib.util.find_spec("mlx_lm")
    locations = spec.submodule_search_locations if spec else None
    return Path(locations[0]) if locations else None


@functools.cache
def _aliases(package: Path) -> Mapping[str, str]:
    tree = ast.parse((package / "utils.py").read_text())
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(_is_named(target, _ALIASES) for target in statement.targets):
            return dict(ast.literal_eval(statement.value))
    return {}


def _is_named(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name

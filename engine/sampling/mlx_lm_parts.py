"""Imports single modules of mlx-lm without its package module, which costs seconds."""

import importlib
import importlib.util
import sys
from types import ModuleType

PACKAGE = "mlx_lm"


def import_part(name: str) -> ModuleType:
    """The module `mlx_lm.<name>`; raises ImportError when there is none.

    `mlx_lm/__init__.py` imports transformers and huggingface_hub, of which models, caches and filters need nothing:
    2 to 4 seconds of every engine start. Unless somebody has imported the package already, a bare package module
    takes its place; every submodule still imports as usual.
    """
    if PACKAGE not in sys.modules:
        sys.modules[PACKAGE] = _bare_package()
    return importlib.import_module(f"{PACKAGE}.{name}")


def _bare_package() -> ModuleType:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise ImportError(f"{PACKAGE} is not installed", name=PACKAGE)
    return importlib.util.module_from_spec(spec)

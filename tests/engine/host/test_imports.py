"""What the app pays for the client."""

import subprocess
import sys

from engine.host.launch import PROJECT_ROOT

HEAVY = ("mlx", "mlx_lm", "transformers", "numpy", "engine.assembly", "engine.host.server", "engine.execution")


def test_the_client_brings_no_model_library_and_no_engine_into_the_app() -> None:
    script = f"import sys, engine.host.client; print([name for name in {HEAVY} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, check=True, text=True
    )
    assert answer.stdout.strip() == "[]"


def test_the_engine_process_answers_before_it_imports_a_model_library() -> None:
    script = f"import sys, engine.host.__main__; print([name for name in {HEAVY[:5]} if name in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, check=True, text=True
    )
    assert answer.stdout.strip() == "[]"

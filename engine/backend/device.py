"""What is asked of the device beside computing."""

from typing import Any

import mlx.core as mx


def start_evaluation(*arrays: Any) -> None:  # noqa: ANN401 - any tree of arrays
    """Let the device compute `arrays` while the host goes on; reading one of them waits for it."""
    mx.async_eval(*arrays)  # type: ignore[no-untyped-call]

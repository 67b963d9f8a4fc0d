"""What is asked of the device beside computing."""

import os
from typing import Any, Final

import mlx.core as mx

_SHARE_OF_HOST: Final = 0.75
"""Without a GPU's own recommendation: what one program may take of a machine others use too."""
_CACHE_SHARE: Final = 8
"""Freed buffers kept for reuse: at most this part of what the device allows."""


def start_evaluation(*arrays: Any) -> None:  # noqa: ANN401 - any tree of arrays
    """Let the device compute `arrays` while the host goes on; reading one of them waits for it."""
    mx.async_eval(*arrays)  # type: ignore[no-untyped-call]


def device_limit_bytes() -> int:
    """What the device recommends to use at most; on a CPU, a share of the machine's memory."""
    recommended = mx.device_info().get("max_recommended_working_set_size")
    if recommended is not None:
        return int(recommended)
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_HOST)


def prepare_device() -> None:
    """Let a GPU keep what it uses from being paged out, and let go of what it does not use. Nothing on a CPU."""
    if mx.metal.is_available():
        limit = device_limit_bytes()
        mx.set_wired_limit(limit)
        mx.set_cache_limit(limit // _CACHE_SHARE)

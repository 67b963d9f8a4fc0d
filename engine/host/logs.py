"""The engine's log, which holds no message text."""

import asyncio
import logging
import traceback
from types import TracebackType
from typing import Any

logger = logging.getLogger(__name__)

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class WordlessFormatter(logging.Formatter):
    """Shows of an exception its types and its code lines, never its text: that may quote what the user wrote."""

    # The name is logging's.
    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802
        _, error, _ = ei
        return "" if error is None else "\n".join(_describe(error))


def log_to_stderr() -> None:
    """Set up the process's log. The launcher says where standard error goes."""
    handler = logging.StreamHandler()
    handler.setFormatter(WordlessFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def log_unhandled(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An asyncio exception handler; its default one would write out tasks with their exceptions' texts."""
    logger.error(context["message"], exc_info=context.get("exception"))


def _describe(error: BaseException) -> list[str]:
    lines = [type(error).__name__, *(line.rstrip() for line in traceback.format_tb(error.__traceback__))]
    if isinstance(error, BaseExceptionGroup):
        lines += [line for each in error.exceptions for line in _describe(each)]
    if error.__cause__ is not None:
        lines += ["caused by", *_describe(error.__cause__)]
    return lines

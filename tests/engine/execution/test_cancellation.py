"""The writing end of a cancellation."""

import pytest

from engine.contracts import SessionCancelledError
from engine.execution.cancellation import CancellationSource


def test_nothing_is_cancelled_at_first() -> None:
    source = CancellationSource()

    source.raise_if_cancelled()
    assert source.reason is None


def test_the_first_reason_wins() -> None:
    source = CancellationSource()
    source.cancel("")
    source.cancel("second")

    assert source.reason == ""
    with pytest.raises(SessionCancelledError, match="cancelled: ") as raised:
        source.raise_if_cancelled()
    assert raised.value.reason == ""


def test_listeners_are_called_once_in_order_and_late_ones_at_once() -> None:
    source, heard = CancellationSource(), list[str]()
    source.subscribe(lambda reason: heard.append(f"first {reason}"))
    source.subscribe(lambda reason: heard.append(f"second {reason}"))
    source.cancel("stop")
    source.cancel("again")
    take_back = source.subscribe(lambda reason: heard.append(f"late {reason}"))
    take_back()

    assert heard == ["first stop", "second stop", "late stop"]


def test_a_listener_taken_back_is_not_called() -> None:
    source, heard = CancellationSource(), list[str]()
    take_back = source.subscribe(heard.append)
    source.subscribe(heard.append)
    take_back()
    take_back()
    source.cancel("stop")

    assert heard == ["stop"]


def test_a_listener_may_take_back_a_later_one_and_subscribe_another() -> None:
    source, heard = CancellationSource(), list[str]()

    def first(_reason: str) -> None:
        take_back()
        source.subscribe(lambda reason: heard.append(f"nested {reason}"))

    source.subscribe(first)
    take_back = source.subscribe(heard.append)
    source.cancel("stop")

    assert heard == ["nested stop"]


def test_l9_every_listener_is_told_before_an_error_is_raised() -> None:
    source, heard = CancellationSource(), list[str]()
    source.subscribe(_broken)
    source.subscribe(heard.append)

    with pytest.raises(ValueError, match="listener broke"):
        source.cancel("stop")
    assert heard == ["stop"]


def test_l9_several_errors_are_raised_together() -> None:
    source = CancellationSource()
    source.subscribe(_broken)
    source.subscribe(_broken)

    with pytest.raises(ExceptionGroup, match="cancellation listeners failed") as raised:
        source.cancel("stop")
    assert len(raised.value.exceptions) == 2


def _broken(_reason: str) -> None:
    raise ValueError("listener broke")

"""Interrupts: handlers of others do not stay."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from types import FrameType

import pytest

from hips.interrupts import SIGNALS, kept, treat_termination_as_interrupt


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {one: signal.getsignal(one) for one in SIGNALS}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


def leave(number: int, frame: FrameType | None) -> None:
    sys.exit(number)


def test_a_library_that_sets_handlers_does_not_keep_them() -> None:
    treat_termination_as_interrupt()
    with kept():
        signal.signal(signal.SIGTERM, leave)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_while_a_library_has_its_handlers_is_an_interrupt() -> None:
    treat_termination_as_interrupt()
    with pytest.raises(KeyboardInterrupt):
        join_a_library(signal.SIGTERM)


def test_an_end_that_no_signal_asked_for_stays_one() -> None:
    with pytest.raises(SystemExit), kept():
        sys.exit(3)


def join_a_library(comes: signal.Signals) -> None:
    with kept():
        signal.signal(signal.SIGTERM, leave)
        signal.raise_signal(comes)

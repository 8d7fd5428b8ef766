"""Interrupts: SIGTERM behaves like Ctrl-C, and neither strikes between finding and keeping."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def treat_termination_as_interrupt() -> None:
    """Makes SIGTERM raise `KeyboardInterrupt`, as Ctrl-C does; only in the main thread."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)


@contextmanager
def kept() -> Iterator[None]:
    """Restores the handlers of both signals after a library call that sets its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in SIGNALS}
    try:
        yield
    except SystemExit as error:
        if error.code in SIGNALS:  # by the library's handler
            raise KeyboardInterrupt from None
        raise
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def shielded() -> Iterator[None]:
    """Delays Ctrl-C and SIGTERM until the block has ended, so that a result is not lost in it.

    Signals reach only the main thread; elsewhere there is nothing to delay.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {one: signal.signal(one, lambda number, _: waiting.append(number)) for one in SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    for number in waiting[:1]:
        signal.raise_signal(number)


@contextmanager
def blocked() -> Iterator[None]:
    """Starts processes with SIGINT and SIGTERM blocked: terminals and schedulers signal groups."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_parent() -> None:
    """Ignores both signals in a worker process: its parent decides when it ends."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

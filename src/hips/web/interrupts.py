"""A call in a thread that can be interrupted, for solvers that have no rounds."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from hips.planner.rounds import StopSearch

T = TypeVar("T")


class InterruptibleCall(Generic[T]):
    """Runs a function in a thread of its own; `interrupt` raises `StopSearch` inside it.

    Solvers end cleanly on `StopSearch`: policies between two steps, external programs with all
    their processes.
    """

    def __init__(self, function: Callable[[], T], finished: Callable[[], None]) -> None:
        self.result: T | None = None
        self.error: BaseException | None = None
        self._function, self._finished = function, finished
        self._lock = threading.Lock()
        self._running = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Starts the call."""
        self._running = True
        self._thread.start()

    def interrupt(self) -> None:
        """Raises `StopSearch` in the running call; does nothing afterwards."""
        with self._lock:
            if self._running and self._thread.ident is not None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread.ident), ctypes.py_object(StopSearch)
                )

    def _run(self) -> None:
        try:
            try:
                self.result = self._function()
            except BaseException as error:
                self.error = error
            finally:
                # Without the lock, an interruption could arrive after the call.
                with self._lock:
                    self._running = False
        except StopSearch:  # it arrived between the call and the lock
            self._running = False
        self._finished()

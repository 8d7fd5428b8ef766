"""Splits the rows of a network call among threads.

Threads inside the operations of such small networks gain nothing; threads over rows nearly halve
the time on two cores. A row's output does not depend on the other rows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

Piece = TypeVar("Piece")

FEWEST_ROWS = 4
"""Below this many rows, waking a thread costs more than it saves."""


class RowThreads:
    """Divides rows among threads, including the caller's."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None
        self._owner = os.getpid()
        self._lock = threading.Lock()

    def run(self, function: Callable[[slice], Piece], count: int) -> list[Piece]:
        """Applies `function` to consecutive slices of `count` rows; results in order."""
        first, *others = row_slices(count, self.threads)
        if not others:
            return [function(first)]
        pool = self._workers()
        waiting = [pool.submit(function, rows) for rows in others]
        return [function(first), *(future.result() for future in waiting)]

    def _workers(self) -> ThreadPoolExecutor:
        """The pool of this process; a fork does not inherit the parent's threads."""
        if self._pool is None or self._owner != os.getpid():
            if self._owner != os.getpid():
                self._lock = threading.Lock()  # the parent may have held it during the fork
            with self._lock:
                if self._pool is None or self._owner != os.getpid():
                    self._pool = ThreadPoolExecutor(
                        self.threads - 1, thread_name_prefix="hips-rows"
                    )
                    self._owner = os.getpid()
        return self._pool


def row_slices(count: int, threads: int) -> list[slice]:
    """At most `threads` nearly equal slices of at least `FEWEST_ROWS` rows; at least one slice.

    >>> row_slices(9, 2)
    [slice(0, 4, None), slice(4, 9, None)]
    >>> row_slices(7, 2)
    [slice(0, 7, None)]
    """
    parts = max(1, min(threads, count // FEWEST_ROWS))
    bounds = [part * count // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]

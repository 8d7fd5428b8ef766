"""One call of a network as several calls with fewer rows each, at once on several cores.

Threads inside the operations of networks this small gain nothing; threads over rows nearly halve
the time on two cores. A row's answer does not depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

Part = TypeVar("Part")

FEWEST_ROWS = 4
"""Waking a thread up costs more than computing fewer rows than this."""


class RowThreads:
    """Shares rows out among threads; the caller's thread is one of them."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def run(self, function: Callable[[slice], Part], count: int) -> list[Part]:
        """`function` of consecutive slices that together are `count` rows; answers in order."""
        first, *others = row_slices(count, self.threads)
        waiting = [self._pool.submit(function, rows) for rows in others]
        return [function(first), *(future.result() for future in waiting)]

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, thread_name_prefix="hips-rows")


def row_slices(count: int, threads: int) -> list[slice]:
    """At most `threads` slices of nearly equal size and not less than `FEWEST_ROWS`, at least one.

    >>> row_slices(9, 2)
    [slice(0, 4, None), slice(4, 9, None)]
    >>> row_slices(7, 2)
    [slice(0, 7, None)]
    """
    parts = max(1, min(threads, count // FEWEST_ROWS))
    bounds = [part * count // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]

"""Who computes when: places for searches, with a queue, and threads for short tasks."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from hips.web.errors import BUSY, Refusal
from hips.web.limits import Limits

T = TypeVar("T")


class Floor:
    """Shares the machine between requests; used from the event loop only.

    At most `limits.open` searches hold nodes in memory; further ones wait in order of arrival, and
    beyond `limits.queue` they are refused. Rounds and short tasks run in separate threads, so that
    pictures do not wait for searches.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.open = 0
        self.waiting: deque[Place] = deque()
        self._tasks = 0
        self._rounds = ThreadPoolExecutor(limits.computing, "search")
        self._short = ThreadPoolExecutor(limits.computing, "task")

    def place(self) -> Place:
        """A place for a search, perhaps in the queue.

        Raises:
            Refusal: the queue is full.
        """
        place = Place(self)
        if self.open < self.limits.open:
            self.open += 1
            place.entered.set()
        elif len(self.waiting) < self.limits.queue:
            self.waiting.append(place)
        else:
            raise Refusal(
                BUSY,
                f"{self.open} searches are running and {len(self.waiting)} are waiting, which is "
                "as many as this server takes; try again in a few seconds.",
            )
        return place

    async def compute(self, function: Callable[..., T], *arguments: Any) -> T:
        """Runs a piece of a search in a thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._rounds, function, *arguments)

    async def task(self, function: Callable[..., T], *arguments: Any) -> T:
        """Runs a short task in a thread.

        Raises:
            Refusal: too many tasks are waiting.
        """
        if self._tasks >= self.limits.tasks:
            raise Refusal(BUSY, "Too many requests at once; try again in a few seconds.")
        self._tasks += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._short, function, *arguments)
        finally:
            self._tasks -= 1

    def close(self) -> None:
        """Ends the threads."""
        self._rounds.shutdown(wait=False, cancel_futures=True)
        self._short.shutdown(wait=False, cancel_futures=True)


class Place:
    """The place of one search: in the queue until `entered` is set."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self.entered = asyncio.Event()

    @property
    def position(self) -> int:
        """1-based position in the queue; 0 once entered."""
        return 0 if self.entered.is_set() else self._floor.waiting.index(self) + 1

    def leave(self) -> None:
        """Gives the place to the next search."""
        if not self.entered.is_set():
            self._floor.waiting.remove(self)
        elif self._floor.waiting:
            self._floor.waiting.popleft().entered.set()
        else:
            self._floor.open -= 1

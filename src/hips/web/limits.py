"""Limits of the server: what one request, one search and all of them together may take."""

from __future__ import annotations

from dataclasses import dataclass

from hips import machine
from hips.planner.budget import Budget


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the server.

    Attributes:
        body_bytes: bytes of a request.
        side: rows or columns of a level.
        levels: levels of a pasted file.
        pixels: pixels of all pictures of a request.
        frames: states of an animated plan.
        expansions: expanded nodes of a search.
        seconds: own time of a search, without pauses.
        bytes: memory of a search's nodes.
        nodes: nodes of a search that are sent to the page.
        open: searches with nodes in memory, paused ones included.
        queue: searches that wait for one of those places.
        tasks: short tasks, such as pictures, that wait for a thread.
        computing: searches and tasks that compute at the same time.
        idle_seconds: time after which a paused search, or one whose reader has stopped reading,
            ends.
        events_per_second: maximum rate of events of a search.
    """

    body_bytes: int = 256 << 10
    side: int = 64
    levels: int = 200
    pixels: int = 12_000_000
    frames: int = 2_000
    expansions: int = 100_000
    seconds: float = 120.0
    bytes: int = 256 << 20
    nodes: int = 60_000
    open: int = 16
    queue: int = 256
    tasks: int = 256
    computing: int = max(1, machine.cores())
    idle_seconds: float = 600.0
    events_per_second: float = 20.0

    def budget(self, expansions: int | None, seconds: float | None) -> Budget:
        """The budget of a search: the wanted limits, but at most those of the server."""
        return Budget(
            min(expansions or self.expansions, self.expansions),
            min(seconds or self.seconds, self.seconds),
            self.bytes,
        )

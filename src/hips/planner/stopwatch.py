"""Where the time goes, by phase."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Stopwatch:
    """Adds up seconds by phase: each lap since the last one belongs to the phase it names."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, phase: str) -> None:
        """The time since the last lap went to `phase`."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now

    def lap_split(self, phases: Mapping[str, float], rest: str) -> None:
        """The time since the last lap was measured by `phases` already; what is left is `rest`."""
        for phase, spent in phases.items():
            self.seconds[phase] = self.seconds.get(phase, 0.0) + spent
        self.lap(rest)
        self.seconds[rest] -= sum(phases.values())

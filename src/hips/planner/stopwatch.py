"""Timing by phase."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Stopwatch:
    """Sums seconds by phase; each lap assigns the time since the last one to a phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.began = time.perf_counter()
        self._last = self.began

    def lap(self, phase: str) -> None:
        """Assigns the time since the last lap to `phase`."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now

    def lap_split(self, phases: Mapping[str, float], rest: str) -> None:
        """Assigns the time since the last lap to the measured `phases`, the remainder to `rest`."""
        for phase, spent in phases.items():
            self.seconds[phase] = self.seconds.get(phase, 0.0) + spent
        self.lap(rest)
        self.seconds[rest] -= sum(phases.values())

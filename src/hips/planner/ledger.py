"""Counts and clocks of the searches of a lockstep, one place per slot."""

from __future__ import annotations

import time

import numpy as np

from hips.planner.protocols import Floats, Ints
from hips.planner.result import Statistics

COUNTS = (
    "expansions",
    "subgoal_expansions",
    "action_expansions",
    "generated",
    "network_calls",
    "model_calls",
    "environment_steps",
    "replans",
    "clamped",
)
PHASES = ("expand", "estimate", "bookkeeping", "validate")


class Ledger:
    """What the search in each slot has used so far.

    Attributes:
        counts: `[slots]` for each name in `COUNTS`.
        phases: seconds `[slots]` for each name in `PHASES`.
    """

    def __init__(self, num_slots: int) -> None:
        self.counts: dict[str, Ints] = {
            name: np.zeros(num_slots, dtype=np.int64) for name in COUNTS
        }
        self.phases: dict[str, Floats] = {name: np.zeros(num_slots) for name in PHASES}
        self._began = np.zeros(num_slots)

    def begin(self, slot: int) -> None:
        """Starts the clock of a new search."""
        for array in (*self.counts.values(), *self.phases.values()):
            array[slot] = 0
        self._began[slot] = time.perf_counter()

    def elapsed(self) -> Floats:
        """Seconds since each slot's search began, `[slots]`."""
        return time.perf_counter() - self._began

    def spend(self, slots: Ints, phase: str, seconds: float) -> None:
        """Divides the time of a round among the searches that took part in it."""
        self.phases[phase][slots] += seconds / len(slots)

    def statistics(self, slot: int, peak_bytes: int) -> Statistics:
        """The record of one search."""
        return Statistics(
            **{name: int(array[slot]) for name, array in self.counts.items()},
            seconds=float(self.elapsed()[slot]),
            phases={name: float(array[slot]) for name, array in self.phases.items()},
            peak_bytes=peak_bytes,
        )

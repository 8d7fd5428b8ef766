"""Counts and clocks of the searches of a lockstep, one place per slot."""

from __future__ import annotations

import time
from collections.abc import Sequence

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
    """What the search in each slot has used so far."""

    def __init__(self, num_slots: int) -> None:
        self._counts = np.zeros((num_slots, len(COUNTS)), dtype=np.int64)
        self._phases = np.zeros((num_slots, len(PHASES)))
        self._began = np.zeros(num_slots)

    def begin(self, slot: int) -> None:
        """Starts the clock of a new search."""
        self._counts[slot] = 0
        self._phases[slot] = 0.0
        self._began[slot] = time.perf_counter()

    def elapsed(self) -> Floats:
        """Seconds since each slot's search began, `[slots]`."""
        return time.perf_counter() - self._began

    def count(self, name: str) -> Ints:
        """One of `COUNTS` for every slot, `[slots]`, to read or to add to."""
        return self._counts[:, COUNTS.index(name)]

    def add_expansion(self, slots: Ints, amounts: Sequence[Ints]) -> None:
        """Adds one expansion per slot: amounts `[B]` for the first of `COUNTS`, in order."""
        self._counts[slots, : len(amounts)] += np.stack(amounts, axis=1)

    def spend(self, slots: Ints, seconds: Sequence[float]) -> None:
        """Divides the seconds of a round, by phase, among the searches that took part in it."""
        self._phases[slots] += np.array(seconds) / len(slots)

    def statistics(self, slot: int, peak_bytes: int) -> Statistics:
        """The record of one search."""
        return Statistics(
            **dict(zip(COUNTS, self._counts[slot].tolist(), strict=True)),
            seconds=float(self.elapsed()[slot]),
            phases=dict(zip(PHASES, self._phases[slot].tolist(), strict=True)),
            peak_bytes=peak_bytes,
        )

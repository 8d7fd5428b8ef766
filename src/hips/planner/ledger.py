"""Counts and clocks of the searches of a lockstep, one place per slot."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from hips.domains.base import Bools
from hips.planner.protocols import Floats, Ints
from hips.planner.result import PROFILE_EDGES, Statistics

COUNTS = (
    "subgoal_expansions",
    "action_expansions",
    "generated",
    "network_calls",
    "model_calls",
    "environment_steps",
    "replans",
    "clamped",
)
_LOW_LEVEL = COUNTS.index("action_expansions")
_EDGES = np.array(PROFILE_EDGES)


class Ledger:
    """What the search in each slot has used so far.

    Every search under way takes part in every round, so expansions and times need no book per
    slot: they are the difference of two running totals, at the search's beginning and now.
    """

    def __init__(self, num_slots: int) -> None:
        self._rounds = 0
        self._began_round = np.zeros(num_slots, dtype=np.int64)
        self._counts = np.zeros((num_slots, len(COUNTS)), dtype=np.int64)
        self._profiles = np.zeros((num_slots, len(PROFILE_EDGES)), dtype=np.int64)
        self._phases: dict[str, float] = {}
        self._phases_before: list[dict[str, float]] = [{} for _ in range(num_slots)]
        self._began = np.zeros(num_slots)

    def begin(self, slot: int) -> None:
        """Starts the books of a new search."""
        self._counts[slot] = 0
        self._profiles[slot] = 0
        self._phases_before[slot] = dict(self._phases)
        self._began_round[slot] = self._rounds
        self._began[slot] = time.perf_counter()

    def expansions(self) -> Ints:
        """Nodes expanded since each slot's search began, `[slots]`."""
        return self._rounds - self._began_round

    def elapsed(self) -> Floats:
        """Seconds since each slot's search began, `[slots]`."""
        return time.perf_counter() - self._began

    def count(self, name: str) -> Ints:
        """One of `COUNTS` for every slot, `[slots]`, to read or to add to."""
        return self._counts[:, COUNTS.index(name)]

    def add_expansions(self, slots: Ints, amounts: Sequence[Ints | Bools]) -> None:
        """One expansion of every search: amounts `[B]` for the first of `COUNTS`, in order."""
        self._rounds += 1
        for place, amount in enumerate(amounts):
            self._counts[slots, place] += amount
        bins = np.searchsorted(_EDGES, self.expansions()[slots], side="right") - 1
        self._profiles[slots, bins] += amounts[_LOW_LEVEL]

    def spend(self, num_searches: int, seconds: Mapping[str, float]) -> None:
        """Divides the seconds of a round, by phase, among the searches that took part in it."""
        for phase, spent in seconds.items():
            self._phases[phase] = self._phases.get(phase, 0.0) + spent / num_searches

    def statistics(self, slot: int, peak_bytes: int) -> Statistics:
        """The record of one search."""
        used = int(np.searchsorted(_EDGES, self.expansions()[slot], side="right"))
        before = self._phases_before[slot]
        phases = {name: total - before.get(name, 0.0) for name, total in self._phases.items()}
        return Statistics(
            expansions=int(self.expansions()[slot]),
            **dict(zip(COUNTS, self._counts[slot].tolist(), strict=True)),
            seconds=float(self.elapsed()[slot]),
            phases=phases,
            peak_bytes=peak_bytes,
            action_profile=tuple(self._profiles[slot, :used].tolist()),
        )

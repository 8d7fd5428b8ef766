"""Counts and times of the searches in lockstep, one entry per slot."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from hips.arrays import Floats, Ints
from hips.planner.children import COSTS, Children
from hips.planner.result import PROFILE_EDGES, Statistics

COUNTS = (
    *COSTS,
    "subgoal_expansions",
    "action_expansions",
    "generated",
    "replans",
    "clamped",
    "late_rollouts",
    "late_unreached",
)
_PLACE = {name: place for place, name in enumerate(COUNTS)}
_EDGES = np.array(PROFILE_EDGES)


class Ledger:
    """Resources used so far by the search in each slot.

    Every active search takes part in every round, so times need no counter per slot: they are the
    difference between a running total now and at the start of the search.
    """

    def __init__(self, num_slots: int) -> None:
        self._expansions = np.zeros(num_slots, dtype=np.int64)
        self._counts = np.zeros((num_slots, len(COUNTS)), dtype=np.int64)
        self._profiles = np.zeros((num_slots, len(PROFILE_EDGES)), dtype=np.int64)
        self._seconds = 0.0
        self._seconds_before = np.zeros(num_slots)
        self._phases: dict[str, float] = {}
        self._phases_before: list[dict[str, float]] = [{} for _ in range(num_slots)]
        self._began = np.zeros(num_slots)

    def begin(self, slot: int, now: float) -> None:
        """Resets the counters for a search that begins `now`, a reading of `perf_counter`."""
        self._counts[slot] = 0
        self._profiles[slot] = 0
        self._seconds_before[slot] = self._seconds
        self._phases_before[slot] = dict(self._phases)
        self._expansions[slot] = 0
        self._began[slot] = now

    def expansions(self) -> Ints:
        """Nodes expanded since each slot's search began, `[slots]`."""
        return self._expansions

    def seconds(self) -> Floats:
        """Own time of each slot's search in seconds, `[slots]`."""
        return self._seconds - self._seconds_before

    def count(self, name: str) -> Ints:
        """One of `COUNTS` for every slot, `[slots]`; a view that can be updated."""
        return self._counts[:, _PLACE[name]]

    def add_expansions(
        self, slots: Ints, by_subgoal: Any, by_action: Any, children: Children
    ) -> None:
        """Adds expansions of nodes of `slots`, ascending, reached `by_subgoal` or `by_action`."""
        ranks = np.arange(len(slots)) - np.searchsorted(slots, slots)
        bins = np.searchsorted(_EDGES, self._expansions[slots] + ranks + 1, side="right") - 1
        np.add.at(self._expansions, slots, 1)
        np.add.at(self._profiles, (slots, bins), by_action)
        added = np.zeros((len(slots), len(COUNTS)), dtype=np.int64)
        added[:, : len(COSTS)] = children.costs.counts
        added[:, _PLACE["subgoal_expansions"]] = by_subgoal
        added[:, _PLACE["action_expansions"]] = by_action
        added[:, _PLACE["generated"]] = np.bincount(children.parents, minlength=len(slots))
        np.add.at(self._counts, slots, added)

    def spend(self, num_searches: int, seconds: Mapping[str, float]) -> None:
        """Divides the seconds of a round, by phase, among its searches."""
        for phase, spent in seconds.items():
            self._phases[phase] = self._phases.get(phase, 0.0) + spent / num_searches
            self._seconds += spent / num_searches

    def statistics(self, slot: int, peak_bytes: int) -> Statistics:
        """The record of one search."""
        used = int(np.searchsorted(_EDGES, self.expansions()[slot], side="right"))
        before = self._phases_before[slot]
        phases = {name: total - before.get(name, 0.0) for name, total in self._phases.items()}
        return Statistics(
            expansions=int(self.expansions()[slot]),
            **dict(zip(COUNTS, self._counts[slot].tolist(), strict=True)),
            seconds=float(self.seconds()[slot]),
            elapsed_seconds=float(time.perf_counter() - self._began[slot]),
            phases=phases,
            peak_bytes=peak_bytes,
            action_profile=tuple(self._profiles[slot, :used].tolist()),
        )

"""The exact segmentation of trajectories from few scores.

Dynamic programming needs log π(a_t | s_t, s_j) of all near pairs, H rows of a network per state.
Most of them cannot matter: log π is never positive, so a segment is worth at most what the part of
it that is known is worth. Here a pair is scored only when the best bound depends on it, and so is
what else a segment is worth. All trajectories advance together, one state at a time, so the network
still sees large batches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Bools, Floats, Ints
from hips.training.segments import PAIRS_AT_ONCE, PairScore


@dataclass(frozen=True, slots=True)
class Objective:
    """What a segmentation maximises: Σ log π − α + extra, summed over its segments.

    Attributes:
        log_pi: log π(a | s, s_g) of the taken action, for indices of states and their subgoals.
        penalty: α.
        tolerance: the farthest of the subgoals that are worth at most this much less than the best
            one is taken.
        extra: what else a segment is worth, never positive, for indices of its state and its
            subgoal; None for nothing.
    """

    log_pi: PairScore
    penalty: float
    tolerance: float = 0.0
    extra: PairScore | None = None


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The best segmentation from every state.

    Attributes:
        following: `[M]`, the next subgoal of each state; itself for the last one.
        value: `[M]`, the largest Σ log π − α · segments from each state to the end.
        scored: number of pairs of states that were scored.
    """

    following: Ints
    value: Floats
    scored: int


def segment_lazily(objective: Objective, offsets: Ints, horizon: int) -> Segmentation:
    """The segmentation that is worth most, from every state.

    Args:
        objective: what segments are worth.
        offsets: `[N + 1]`, where trajectories start.
        horizon: H, the most steps of a segment.
    """
    return _Search(objective, offsets, horizon).run()


class _Search:
    """Values and partial segments, from the ends of all trajectories backwards.

    `known[j]` is Σ log π(a_t | s_t, s_j) over the steps from `reached[j]` to j: of every segment
    that ends in j, the part that has been scored. `extra[i, d - 1]` is what else the segment from i
    to i + d is worth, where that is `complete`.
    """

    def __init__(self, objective: Objective, offsets: Ints, horizon: int) -> None:
        self.objective, self.offsets, self.horizon = objective, offsets, horizon
        count = int(offsets[-1])
        self.following = np.arange(count)
        self.value, self.known = np.zeros(count), np.zeros(count)
        self.reached = np.arange(count)
        self.extra = np.zeros((count, horizon))
        self.complete = np.full((count, horizon), objective.extra is None)
        self.scored = 0

    def run(self) -> Segmentation:
        """Settles the states of all trajectories that are 1, 2, … steps from their ends."""
        firsts, lasts = self.offsets[:-1], self.offsets[1:] - 1
        for distance in range(1, int((lasts - firsts).max(initial=0)) + 1):
            inside = lasts - distance >= firsts
            states = lasts[inside] - distance
            self._settle(states, lasts[inside])
            if self.objective.tolerance > 0:
                self._go_farther(states, lasts[inside])
        return Segmentation(self.following, self.value, self.scored)

    def _settle(self, states: Ints, lasts: Ints) -> None:
        """Finds the values of `states` `[B]`, whose later states have theirs."""
        while len(states):
            ends, bounds = self._best_ends(states, lasts)
            exact = self._is_exact(states, ends)
            settled = states[exact]
            self.following[settled], self.value[settled] = ends[exact], bounds[exact]
            states, lasts, ends = states[~exact], lasts[~exact], ends[~exact]
            self._find_out(states, ends)

    def _go_farther(self, states: Ints, lasts: Ints) -> None:
        """Replaces the best ends of `states` `[B]` by the farthest that are nearly as good."""
        while len(states):
            ends, bounds = self._bounds(states, lasts)
            near = bounds >= self.value[states, None] - self.objective.tolerance
            farthest = self.horizon - 1 - near[:, ::-1].argmax(axis=1)
            ends = ends[np.arange(len(states)), farthest]
            exact = self._is_exact(states, ends)
            self.following[states[exact]] = ends[exact]
            states, lasts, ends = states[~exact], lasts[~exact], ends[~exact]
            self._find_out(states, ends)

    def _best_ends(self, states: Ints, lasts: Ints) -> tuple[Ints, Floats]:
        """The end of the most promising segment from each state, and its bound `[B]`."""
        ends, bounds = self._bounds(states, lasts)
        rows, best = np.arange(len(states)), bounds.argmax(axis=1)
        return ends[rows, best], bounds[rows, best]

    def _bounds(self, states: Ints, lasts: Ints) -> tuple[Ints, Floats]:
        """The ends of all segments from each state and what they are worth at most, `[B, H]`."""
        ends = states[:, None] + np.arange(1, self.horizon + 1)
        beyond: Bools = ends > lasts[:, None]
        ends = np.where(beyond, states[:, None] + 1, ends)
        worth = self.known[ends] + self.value[ends] - self.objective.penalty + self.extra[states]
        return ends, np.where(beyond, -np.inf, worth)

    def _is_exact(self, states: Ints, ends: Ints) -> Bools:
        """Whether everything about the segments from `states` to `ends`, both `[B]`, is known."""
        whole: Bools = (self.reached[ends] <= states) & self.complete[states, ends - states - 1]
        return whole

    def _find_out(self, states: Ints, ends: Ints) -> None:
        """Scores the segments from `states` to `ends` further: first log π, then the rest."""
        partial = self.reached[ends] > states
        self._extend(states[partial], ends[partial])
        self._complete(states[~partial], ends[~partial])

    def _complete(self, states: Ints, ends: Ints) -> None:
        """Adds what else the segments from `states` to `ends`, both `[B]`, are worth."""
        extra, columns = self.objective.extra, ends - states - 1
        if extra is None:
            return
        for first in range(0, len(states), PAIRS_AT_ONCE):
            part = slice(first, first + PAIRS_AT_ONCE)
            self.extra[states[part], columns[part]] = extra(states[part], ends[part])
        self.complete[states, columns] = True

    def _extend(self, states: Ints, ends: Ints) -> None:
        """Scores the rest of the segments from `states` to `ends`, both `[B]`."""
        lengths = self.reached[ends] - states
        owners = np.repeat(np.arange(len(states)), lengths)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        rows, subgoals = states[owners] + within, ends[owners]
        for first in range(0, len(rows), PAIRS_AT_ONCE):
            part = slice(first, first + PAIRS_AT_ONCE)
            np.add.at(self.known, subgoals[part], self.objective.log_pi(rows[part], subgoals[part]))
        self.reached[ends] = states
        self.scored += len(rows)

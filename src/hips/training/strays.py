"""States beside demonstrations: the ends of random walks."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grids
from hips.planner.packing import pack
from hips.training.stitching import Surveyor

DRAWN = 3
"""Walks for each that is kept."""


def stray_ends(
    surveyor: Surveyor, states: Grids, rng: np.random.Generator, count: int, longest: int
) -> Grids:
    """Ends `[count, H, W]` of random walks from some of the `states` `[N, H, W]`.

    Of three walks, the one that changes most is kept: where little has changed, the end is nearly
    as familiar as the start.
    """
    starts = states[rng.choice(len(states), size=DRAWN * count)]
    ends = walk(surveyor, starts, rng, longest)
    changed = (pack(ends) != pack(starts)).sum(axis=1).reshape(count, DRAWN)
    kept = np.arange(count) * DRAWN + changed.argmax(axis=1)
    return ends[kept]


def walk(surveyor: Surveyor, starts: Grids, rng: np.random.Generator, longest: int) -> Grids:
    """Where random actions lead from `starts` `[B, H, W]`, after 2 to `longest` steps each."""
    states = starts.copy()
    steps = rng.integers(2, max(longest, 2) + 1, size=len(starts))
    for taken in range(int(steps.max(initial=0))):
        rows = np.flatnonzero(steps > taken)
        actions = rng.integers(surveyor.num_actions, size=len(rows))
        states[rows] = surveyor.after(states[rows], actions)
    return states

"""States beside demonstrations: the ends of random walks."""

from __future__ import annotations

import numpy as np

from hips.arrays import Grids
from hips.training.stitching import Surveyor


def walk(surveyor: Surveyor, starts: Grids, rng: np.random.Generator, longest: int) -> Grids:
    """Where random actions lead from `starts` `[B, H, W]`, after 2 to `longest` steps each."""
    states = starts.copy()
    steps = rng.integers(2, max(longest, 2) + 1, size=len(starts))
    for taken in range(int(steps.max(initial=0))):
        rows = np.flatnonzero(steps > taken)
        actions = rng.integers(surveyor.num_actions, size=len(rows))
        states[rows] = surveyor.after(states[rows], actions)
    return states

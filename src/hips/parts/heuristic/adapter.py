"""The heuristic for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids
from hips.models.runtime import GraphRuntime

GRAPH = "heuristic"
MAX_DECREASE = 2.0
"""One action lowers the true distance by at most 1; a learned h rarely falls by much more."""


@dataclass(frozen=True, slots=True)
class LearnedHeuristic:
    """h(s)."""

    runtime: GraphRuntime
    calls: int = 1
    max_decrease: float | None = MAX_DECREASE

    def distances(self, states: Grids) -> Floats:
        """`[B]`."""
        return self.runtime.rowwise(GRAPH, ((),), states=states)[0].astype(np.float64)

"""The verifier for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids
from hips.models.runtime import GraphRuntime

GRAPH = "verifier"


@dataclass(frozen=True, slots=True)
class LearnedVerifier:
    """The probability that the policy reaches a subgoal."""

    runtime: GraphRuntime
    calls: int = 1

    def probabilities(self, states: Grids, subgoals: Grids) -> Floats:
        """`[B]`."""
        found = self.runtime.rowwise(GRAPH, ((),), states=states, subgoals=subgoals)[0]
        return found.astype(np.float64)

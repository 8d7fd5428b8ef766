"""The reach policy for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids
from hips.models.runtime import GraphRuntime
from hips.planner.protocols import Foresight

GRAPH = "policy"


@dataclass(frozen=True, slots=True)
class LearnedReachPolicy:
    """π(a | s, s_g)."""

    runtime: GraphRuntime
    calls: int = 1

    def act(self, states: Grids, subgoals: Grids) -> Foresight:
        """The predicted actions and the probability of arriving."""
        shapes = ((None, None), ())
        actions, reachable = self.runtime.rowwise(GRAPH, shapes, states=states, subgoals=subgoals)
        return Foresight(actions.astype(np.float64), reachable)

    def next_action(self, states: Grids, subgoals: Grids) -> Floats:
        """Log-probabilities `[B, A]` of the next action only."""
        found: Floats = self.act(states, subgoals).log_probabilities[:, 0]
        return found

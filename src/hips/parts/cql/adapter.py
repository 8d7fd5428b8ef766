"""Q-values for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Actions, Floats, Grids
from hips.errors import ModelError
from hips.models.runtime import GraphRuntime
from hips.planner.closed_loop import Episodes

GRAPH = "cql"


@dataclass(frozen=True, slots=True)
class LearnedQValues:
    """Q(s, a); as a closed-loop policy, the action of the largest value."""

    runtime: GraphRuntime
    calls: int = 1

    def values(self, states: Grids) -> Floats:
        """Q-values `[B, A]`."""
        found = self.runtime.rowwise(GRAPH, ((None,),), states=states)[0]
        if np.isnan(found).any():
            raise ModelError("The Q-values are NaN: the model is damaged; train it again.")
        return found.astype(np.float64)

    def act(self, episodes: Episodes) -> Actions:
        """The best actions `[B]`."""
        best: Actions = self.values(episodes.states[-1]).argmax(axis=1)
        return best

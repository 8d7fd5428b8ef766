"""The prior for the planner: π_SG and π_BC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids
from hips.errors import ModelError
from hips.models.runtime import GraphRuntime

GRAPH = "prior"


@dataclass(frozen=True, slots=True)
class LearnedPrior:
    """Both policies of one network; as an action policy it is π_BC."""

    runtime: GraphRuntime
    calls: int = 1

    def evaluate(self, states: Grids) -> tuple[Floats, Floats]:
        """Log π_SG `[B, K]` and log π_BC `[B, A]`."""
        codes, actions = self.runtime.rowwise(GRAPH, ((None,), (None,)), states=states)
        if np.isnan(codes).any() or np.isnan(actions).any():
            raise ModelError("The prior returned NaN: the model is damaged; train it again.")
        return codes.astype(np.float64), actions.astype(np.float64)

    def log_probabilities(self, states: Grids) -> Floats:
        """Log π_BC `[B, A]`."""
        return self.evaluate(states)[1]

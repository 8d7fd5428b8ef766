"""The learned dynamics for the planner."""

from __future__ import annotations

from dataclasses import dataclass

from hips.arrays import Actions, Grids
from hips.models.runtime import GraphRuntime

GRAPH = "dynamics"


@dataclass(frozen=True, slots=True)
class LearnedDynamics:
    """f(s, a)."""

    runtime: GraphRuntime

    def step(self, states: Grids, actions: Actions) -> Grids:
        """`[B, H, W]`."""
        shapes = (states.shape[1:],)
        following: Grids = self.runtime.rowwise(GRAPH, shapes, states=states, actions=actions)[0]
        return following

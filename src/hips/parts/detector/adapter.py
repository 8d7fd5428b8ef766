"""The detector as functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats32, Grids, Ints
from hips.data.dataset import Trajectories
from hips.models.runtime import GraphRuntime
from hips.training.segments import likeliest_following

GRAPH = "detector"
STATES_AT_ONCE = 512


@dataclass(frozen=True, slots=True)
class LearnedDetector:
    """q(s_j | s_i)."""

    runtime: GraphRuntime

    def embed(self, states: Grids) -> tuple[Floats32, Floats32, Floats32]:
        """Queries `[B, E]`, keys `[B, E]` and the bias of each distance `[H]`."""
        queries, keys, bias = self.runtime.call(GRAPH, {"states": states})
        return queries, keys, bias

    def following(self, data: Trajectories) -> Ints:
        """The most likely next subgoal of every state `[M]`."""
        found = [
            self.embed(data.states[first : first + STATES_AT_ONCE])
            for first in range(0, len(data.states), STATES_AT_ONCE)
        ]
        queries = np.concatenate([one[0] for one in found])
        keys = np.concatenate([one[1] for one in found])
        return likeliest_following(queries, keys, found[0][2], data.offsets)

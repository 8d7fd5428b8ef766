"""The detector as functions of arrays."""

from __future__ import annotations

from dataclasses import dataclass

from hips.arrays import Floats, Floats32, Grids, Ints
from hips.data.dataset import Trajectories
from hips.models.runtime import GraphRuntime
from hips.training.segments import likeliest_following, pair_scores

GRAPH = "detector"


@dataclass(frozen=True, slots=True)
class LearnedDetector:
    """q(s_j | s_i)."""

    runtime: GraphRuntime

    def score(self, states: Grids, subgoals: Grids) -> Floats32:
        """Scores `[B]` of pairs: log q(s_j | s_i) up to a constant of each state."""
        found = self.runtime.rowwise(GRAPH, ((),), states=states, subgoals=subgoals)
        scores: Floats32 = found[0]
        return scores

    def following(self, data: Trajectories, horizon: int) -> Ints:
        """The most likely next subgoal of every state `[M]`."""

        def score(rows: Ints, subgoals: Ints) -> Floats:
            return self.score(data.states[rows], data.states[subgoals]).astype(float)

        return likeliest_following(pair_scores(score, data.offsets, horizon), data.offsets)

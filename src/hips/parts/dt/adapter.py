"""The Decision Transformer for the planner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Actions, Floats
from hips.errors import ModelError
from hips.models.runtime import GraphRuntime
from hips.planner.closed_loop import Episodes

STATES, ACTIONS = "dt_states", "dt"
CONTEXT = 30
"""Number of time steps that it sees."""


@dataclass(frozen=True, slots=True)
class ReturnConditionedPolicy:
    """The likeliest action, given the last states and actions and the wanted steps to go.

    Attributes:
        runtime: the graphs.
        target_steps: wanted length of an episode; 0 for that of the median demonstration.
        calls: one row of each graph per action.
    """

    runtime: GraphRuntime
    target_steps: int = 0
    calls: int = 2

    def act(self, episodes: Episodes) -> Actions:
        """Actions `[B]`; the features of states are remembered in `episodes.notes`."""
        features, typical = self.runtime.rowwise(STATES, ((None,), ()), states=episodes.states[-1])
        episodes.notes.append(features.astype(np.float64))
        total = float(self.target_steps or typical[0])
        time = len(episodes.actions)
        shown = min(time + 1, CONTEXT)
        to_go = np.maximum(total - np.arange(time + 1 - shown, time + 1), 1.0)
        past = episodes.actions[time + 1 - shown :]
        found = self.log_probabilities(
            np.stack(episodes.notes[-shown:], axis=1),
            np.stack([*past, np.zeros(len(features), dtype=np.int64)], axis=1),
            np.tile(to_go, (len(features), 1)),
        )
        best: Actions = found[:, -1].argmax(axis=1)
        return best

    def log_probabilities(self, features: Floats, actions: Actions, to_go: Floats) -> Floats:
        """Log-probabilities `[B, T, A]` of the action after each of T ≤ `CONTEXT` time steps."""
        length = features.shape[1]
        rest = ((0, 0), (0, CONTEXT - length))
        found = self.runtime.rowwise(
            ACTIONS,
            ((CONTEXT, None),),
            features=np.pad(features, (*rest, (0, 0))).astype(np.float32),
            actions=np.pad(actions, rest),
            steps_to_go=np.pad(to_go, rest).astype(np.float32),
        )[0]
        if np.isnan(found).any():
            raise ModelError("The policy returned NaN: the model is damaged; train it again.")
        return found[:, :length].astype(np.float64)

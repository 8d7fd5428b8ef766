"""A second segmentation, into subgoals that a first generator foresees.

The paper's objective rewards a subgoal that tells the policy which of many equal paths was
taken. Nobody can foresee such a subgoal. With the subgoal as a latent variable, the likelihood of
a demonstration is Σ log p(s_g | s) + Σ log π(a | s, s_g), and α stands for the first sum. Here a
share λ of that sum joins the objective, with the encoder's code e in place of a sum over codes:

    log p(s_g | s) ≥ log π_SG(e | s) + log g(s_g | e, s).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hips.arrays import Floats, Grids, Ints
from hips.models.runtime import GraphRuntime
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import ENCODER, CodePrior, decode
from hips.training.segmenters import SegmentationTask
from hips.training.segments import best_chain, later_states, pair_log_pi, segment_rewards
from hips.training.workshop import SubgoalPairs, Workshop

NAME = "foreseen"
FIRST_PRIOR = "prior.training"
"""The stage after which a generator has a probability for each subgoal."""
STATES_AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class ForeseenSegmenter:
    """Maximises Σ log π − α + λ log p(s_g | s) over all segmentations of a trajectory."""

    stages: tuple[str, ...] = ("reach_policy.imitation", "subgoals.discrete", FIRST_PRIOR)
    costly: bool = True

    def following(self, task: SegmentationTask) -> Ints:
        """The best next subgoal of every state."""
        data, config, horizon = task.data, task.config, task.horizon
        log_pi = pair_log_pi(LearnedReachPolicy(task.runtime).next_action, data, horizon)
        rewards = segment_rewards(log_pi, data.offsets, config.penalty)
        foreseen = pair_log_likelihood(task.runtime, data.states, data.offsets, horizon)
        return best_chain(rewards + config.foresight * foreseen, data.offsets, config.tolerance)[0]


def foreseen_pairs(workshop: Workshop) -> tuple[SubgoalPairs, SubgoalPairs]:
    """Training and validation pairs of states and their next foreseen subgoals."""
    return workshop.pairs(NAME, ForeseenSegmenter())


def pair_log_likelihood(
    runtime: GraphRuntime, states: Grids, offsets: Ints, horizon: int
) -> Floats:
    """Log p(s_{t+d} | s_t) `[M, H]` for every state and d = 1 … H; 0 beyond the end."""
    positions, exists = later_states(offsets, horizon)
    found = np.zeros(exists.shape)
    prior = LearnedPrior(runtime)
    for first in range(0, len(states), STATES_AT_ONCE):
        part = slice(first, first + STATES_AT_ONCE)
        parents, columns = np.nonzero(exists[part])
        if len(parents):
            subgoals = states[positions[part][parents, columns]]
            found[first + parents, columns] = subgoal_log_likelihood(
                runtime, prior, states[part], parents, subgoals
            )
    return found


def subgoal_log_likelihood(
    runtime: GraphRuntime, prior: CodePrior, states: Grids, parents: Ints, subgoals: Grids
) -> Floats:
    """Log π_SG(e | s) + log g(s_g | e, s) `[M]` of subgoals of `states[parents]`."""
    (found,) = runtime.rowwise(ENCODER, states=states[parents], subgoals=subgoals)
    codes = found.astype(np.int64)
    scores = decode(runtime, states, parents, codes).astype(np.float64)
    taken = np.take_along_axis(scores, subgoals[..., None].astype(np.int64), axis=-1)[..., 0]
    cells: Floats = taken - np.logaddexp.reduce(scores, axis=-1)
    log_codes, _ = prior.evaluate(states)
    likelihood: Floats = log_codes[parents, codes] + cells.sum(axis=(1, 2))
    return likelihood

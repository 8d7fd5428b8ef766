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
import numpy.typing as npt

from hips.arrays import Floats, Grids, Ints, Scores
from hips.models.runtime import GraphRuntime
from hips.parts.prior.adapter import LearnedPrior
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.parts.subgoals.adapter import ENCODER, decode
from hips.training.lazy_segments import Objective, segment_lazily
from hips.training.segmenters import SegmentationTask
from hips.training.segments import PairScore, taken_log_pi
from hips.training.workshop import SubgoalPairs, Workshop

NAME = "foreseen"
FIRST_PRIOR = "prior.training"
"""The stage after which a generator has a probability for each subgoal."""
STATES_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class ForeseenSegmenter:
    """Maximises Σ log π − α + λ log p(s_g | s) over all segmentations of a trajectory."""

    stages: tuple[str, ...] = ("reach_policy.imitation", "subgoals.discrete", FIRST_PRIOR)
    costly: bool = True

    def following(self, task: SegmentationTask) -> Ints:
        """The best next subgoal of every state."""
        data, config = task.data, task.config
        log_pi = taken_log_pi(LearnedReachPolicy(task.runtime).next_action, data)
        likelihood = subgoal_log_likelihood(task.runtime, data.states)

        def foreseen(rows: Ints, subgoals: Ints) -> Floats:
            return config.foresight * likelihood(rows, subgoals)

        # No tolerance: it would take farther subgoals for those that are foreseen.
        objective = Objective(log_pi, config.penalty, extra=foreseen)
        return segment_lazily(objective, data.offsets, task.horizon).following


def foreseen_pairs(workshop: Workshop) -> tuple[SubgoalPairs, SubgoalPairs]:
    """Training and validation pairs of states and their next foreseen subgoals."""
    return workshop.pairs(NAME, ForeseenSegmenter())


def subgoal_log_likelihood(runtime: GraphRuntime, states: Grids) -> PairScore:
    """Log π_SG(e | s) + log g(s_g | e, s), as a score of pairs of `states` `[M, H, W]`."""
    prior = LearnedPrior(runtime)
    log_codes = np.concatenate(
        [
            prior.evaluate(states[first : first + STATES_AT_ONCE])[0].astype(np.float32)
            for first in range(0, len(states), STATES_AT_ONCE)
        ]
    )

    def score(rows: Ints, subgoals: Ints) -> Floats:
        starts, targets = states[rows], states[subgoals]
        (found,) = runtime.rowwise(ENCODER, states=starts, subgoals=targets)
        codes = found.astype(np.int64)
        scores = decode(runtime, starts, np.arange(len(rows)), codes)
        cells = log_shares(scores, targets).sum(axis=(1, 2), dtype=np.float64)
        likelihood: Floats = log_codes[rows, codes] + cells
        return likelihood

    return score


def log_shares(scores: Scores, symbols: Grids) -> npt.NDArray[np.float32]:
    """Log-softmax of cell scores `[B, H, W, symbols]` at the symbols of grids `[B, H, W]`."""
    largest = scores.max(axis=-1)
    taken = np.take_along_axis(scores, symbols[..., None].astype(np.int64), axis=-1)[..., 0]
    total = np.exp(scores - largest[..., None]).sum(axis=-1)
    shares: npt.NDArray[np.float32] = taken - largest - np.log(total)
    return shares

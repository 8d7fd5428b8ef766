"""Training of the detector on the exact values of its own choices.

The exact segmentation follows every accident of log π: of two subgoals that are worth nearly the
same it takes now one, now the other, and a generator cannot foresee which. A small network cannot
follow accidents, so its segments should be easier to foresee. REINFORCE trains it from samples; but
given log π of all near pairs, what each choice is worth follows from a pass over the trajectory:

    Q(s_i, s_j) = Σ_t log π(a_t | s_t, s_j) − α + V(s_j),    V(s_i) = Σ_j q(s_j | s_i) Q(s_i, s_j).

The detector ascends the gradient of V with these advantages Q − V: the same objective, without
sampling. Ties cost nothing, so they are broken in the way that is easiest to represent.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

from hips.arrays import Floats, Ints
from hips.data.dataset import Trajectories
from hips.parts.detector.adapter import LearnedDetector
from hips.parts.detector.config import DetectorConfig
from hips.parts.detector.network import DetectorNetwork
from hips.parts.reach_policy.adapter import LearnedReachPolicy
from hips.seeding import stream
from hips.training.batches import Batch
from hips.training.corpus import some_trajectories, trajectory_rows
from hips.training.loop import Stage
from hips.training.segments import (
    against_optimum,
    later_states,
    pair_log_pi,
    segment_rewards,
)
from hips.training.workshop import Workshop

VALIDATION_TRAJECTORIES = 100


@njit(cache=True)
def expected_values(rewards: Floats, q: Floats, offsets: Ints) -> Floats:
    """V of every state `[M]`: the mean Σ log π − α of the segmentations drawn from q.

    Args:
        rewards: `[M, H]` as from `segment_rewards`.
        q: `[M, H]`, probabilities of the next H states; 0 beyond the end of a trajectory.
        offsets: `[N + 1]`.
    """
    values = np.zeros(len(rewards))
    for n in range(len(offsets) - 1):
        last = offsets[n + 1] - 1
        for i in range(last - 1, offsets[n] - 1, -1):
            for column in range(min(rewards.shape[1], last - i)):
                worth = rewards[i, column] + values[i + column + 1]
                values[i] += q[i, column] * worth
    return values


def advantages(rewards: Floats, q: Floats, offsets: Ints) -> Floats:
    """Q − V of each of the next H states as a subgoal, `[M, H]`; 0 beyond the end."""
    values = expected_values(rewards, q, offsets)
    later, exists = later_states(offsets, rewards.shape[1])
    return np.where(exists, np.where(exists, rewards, 0.0) + values[later] - values[:, None], 0.0)


class ValueObjective(nn.Module):
    """−Σ q (Q − V) over whole trajectories."""

    def __init__(self, detector: DetectorNetwork) -> None:
        super().__init__()
        self.detector = detector

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss for the states `[M, H, W]` of trajectories and the rewards `[M, H]`."""
        offsets = batch["offsets"].cpu().numpy()
        q = self.detector.log_q(batch["states"], offsets).exp()
        rewards = batch["rewards"].double().cpu().numpy()
        gains = advantages(rewards, q.detach().double().cpu().numpy(), offsets)
        loss = -(q * torch.from_numpy(gains).to(q)).sum(dim=1).mean()
        return loss, {"entropy": torch.special.entr(q.detach()).sum(dim=1).mean()}


class DistillationStage(Stage):
    """Ascends the value of q; a batch counts trajectories."""

    headline = "objective"

    def __init__(
        self,
        config: DetectorConfig,
        penalty: float,
        detector: DetectorNetwork,
        judge: LearnedDetector,
        policy: LearnedReachPolicy,
        splits: tuple[Trajectories, Trajectories],
    ) -> None:
        self.schedule, self.penalty, self.judge = config.distillation, penalty, judge
        self.objective = ValueObjective(detector)
        self.train, self.valid = splits
        self.horizon = detector.horizon
        log_pi, self.log_pi = (pair_log_pi(policy.next_action, s, self.horizon) for s in splits)
        self.rewards = segment_rewards(log_pi, self.train.offsets, penalty)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Whole trajectories and the rewards of their segments."""
        chosen = rng.choice(len(self.train), size=size)
        rows, offsets = trajectory_rows(self.train.offsets, chosen)
        return {
            "states": torch.from_numpy(self.train.states[rows]),
            "rewards": torch.from_numpy(self.rewards[rows]),
            "offsets": torch.from_numpy(offsets),
        }

    def validate(self) -> dict[str, float]:
        """The objective of the detector's and of the exact segmentation, on held-out data."""
        following = self.judge.following(self.valid, self.horizon)
        found = against_optimum(self.log_pi, following, self.valid.offsets, self.penalty)
        return {"score": -found["objective"], **found}


def build(workshop: Workshop) -> DistillationStage:
    """The stage of a run."""
    config: DetectorConfig = workshop.config.parts["detector"]
    workshop.message(f"weighing the segmentations of {config.distilled} demonstrations")
    rng = stream(workshop.config.seed, "distillation")
    train = some_trajectories(workshop.train, config.distilled, rng)
    valid = some_trajectories(workshop.valid, VALIDATION_TRAJECTORIES, rng)
    return DistillationStage(
        config,
        workshop.config.segmentation.penalty,
        cast(DetectorNetwork, workshop.network("detector")),
        LearnedDetector(workshop.runtime("detector")),
        LearnedReachPolicy(workshop.runtime("reach_policy")),
        (train.trajectories, valid.trajectories),
    )

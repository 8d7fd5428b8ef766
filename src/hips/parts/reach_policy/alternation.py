"""Segmentation and policy in turn: hard expectation maximisation of the paper's objective.

The detector of the paper approximates, by REINFORCE, the segmentation of a trajectory with the
largest Σ log π(a | s, s_g) − α per subgoal. Given log π of all near pairs of states, dynamic
programming finds that segmentation exactly. This stage alternates both sides of the objective on
every batch: it segments whole trajectories with the policy as it is, then improves the policy on
the segments it found.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from hips.arrays import Floats, Ints
from hips.data.dataset import Trajectories
from hips.parts.reach_policy.network import ReachPolicyNetwork
from hips.parts.reach_policy.train import PolicyObjective, next_action, segment_batch
from hips.seeding import stream
from hips.training.batches import Batch, device_of, mean_metrics
from hips.training.config import SegmentationConfig
from hips.training.corpus import Augmenter, Corpus, action_windows, select_trajectories
from hips.training.loop import Stage
from hips.training.schedule import Schedule
from hips.training.segments import (
    best_segmentation,
    follow_chain,
    mean_objective,
    mean_segment,
    pair_log_pi,
)
from hips.training.workshop import Workshop

VALIDATION_TRAJECTORIES = 64
VALIDATION_SEGMENTS = 2048
RANDOM_SEGMENTS = 256
"""Random segments per batch, which keep the policy able to reach arbitrary subgoals."""


def trajectory_batch(corpus: Corpus, rng: np.random.Generator, count: int) -> Batch:
    """Whole trajectories of a corpus, drawn at random, as tensors."""
    part = select_trajectories(corpus, rng.choice(len(corpus.offsets) - 1, size=count))
    return {
        "trajectory_states": torch.from_numpy(part.states),
        "trajectory_actions": torch.from_numpy(part.actions),
        "offsets": torch.from_numpy(part.offsets),
    }


def trajectories_of(batch: Batch) -> Trajectories:
    """The inverse of `trajectory_batch`."""
    return Trajectories(
        batch["trajectory_states"].cpu().numpy(),
        batch["trajectory_actions"].cpu().numpy(),
        batch["offsets"].cpu().numpy(),
    )


def segment_loss(imitation: PolicyObjective, data: Trajectories, ends: Ints) -> Tensor:
    """The imitation loss on whole trajectories, given the end `[M]` of each state's segment."""
    starts = np.flatnonzero(data.actions >= 0)
    policy = imitation.policy
    windows = action_windows(data.actions, starts, ends[starts], policy.chunk)
    device = device_of(policy)
    loss, _ = imitation(
        {
            "states": torch.from_numpy(data.states[starts]).to(device),
            "subgoals": torch.from_numpy(data.states[ends[starts]]).to(device),
            "actions": torch.from_numpy(windows).to(device),
        }
    )
    found: Tensor = loss
    return found


def frozen_log_pi(policy: ReachPolicyNetwork, data: Trajectories, horizon: int) -> Floats:
    """Log π of all near pairs `[M, H]`, from the policy as it is in the middle of training."""
    mode = policy.training
    policy.eval()
    log_pi = pair_log_pi(next_action(policy), data, horizon)
    policy.train(mode)
    return log_pi


class AlternationObjective(nn.Module):
    """−log π of the best segmentation under the policy as it is, and of random segments."""

    def __init__(
        self, policy: ReachPolicyNetwork, segmentation: SegmentationConfig, horizon: int
    ) -> None:
        super().__init__()
        self.imitation = PolicyObjective(policy)
        self.segmentation, self.horizon = segmentation, horizon

    @property
    def policy(self) -> ReachPolicyNetwork:
        """The policy in training."""
        return self.imitation.policy

    def segment(self, data: Trajectories) -> Ints:
        """The end `[M]` of each state's segment in the best segmentation."""
        log_pi = frozen_log_pi(self.policy, data, self.horizon)
        config = self.segmentation
        following, _ = best_segmentation(log_pi, data.offsets, config.penalty, config.tolerance)
        return follow_chain(following, data.offsets)[0]

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of whole trajectories, segmented, plus that of random segments."""
        data = trajectories_of(batch)
        segmented = segment_loss(self.imitation, data, self.segment(data))
        random, metrics = self.imitation(batch)
        return segmented + random, {"segmented": segmented.detach(), **metrics}


class AlternationStage(Stage):
    """Hard expectation maximisation; a batch counts trajectories."""

    def __init__(
        self,
        schedule: Schedule,
        policy: ReachPolicyNetwork,
        train: Corpus,
        valid: Corpus,
        segmentation: SegmentationConfig,
        horizon: int,
    ) -> None:
        self.schedule, self.train = schedule, train
        self.augment = Augmenter.of(train)
        self.objective: AlternationObjective = AlternationObjective(policy, segmentation, horizon)
        count = min(VALIDATION_TRAJECTORIES, len(valid.offsets) - 1)
        self.valid = select_trajectories(valid, np.arange(count)).trajectories
        rng = stream(0, "alternation", "validation")
        self.segments = segment_batch(valid, None, rng, VALIDATION_SEGMENTS, horizon, policy.chunk)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Whole trajectories and random segments."""
        horizon, chunk = self.objective.horizon, self.objective.policy.chunk
        return {
            **trajectory_batch(self.train, rng, size),
            **segment_batch(self.train, self.augment, rng, RANDOM_SEGMENTS, horizon, chunk),
        }

    def validate(self) -> dict[str, float]:
        """The objective on held-out trajectories; its negative is the score."""
        objective, data = self.objective, self.valid
        log_pi = pair_log_pi(next_action(objective.policy), data, objective.horizon)
        config = objective.segmentation
        following, _ = best_segmentation(log_pi, data.offsets, config.penalty, config.tolerance)
        found = mean_objective(log_pi, following, data.offsets, config.penalty)
        scores = mean_metrics(objective.imitation, self.segments)
        return {
            "score": -found,
            "objective": found,
            "segment": mean_segment(following, data.offsets),
            "first_accuracy": scores["first_accuracy"],
        }


def build(workshop: Workshop) -> AlternationStage:
    """The stage of a run."""
    config = workshop.config
    return AlternationStage(
        config.parts["reach_policy"].alternation,
        cast(ReachPolicyNetwork, workshop.network("reach_policy")),
        workshop.train,
        workshop.valid,
        config.segmentation,
        config.horizon,
    )

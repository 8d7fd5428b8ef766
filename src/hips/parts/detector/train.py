"""Training of the detector: REINFORCE, jointly with the reach policy.

It maximises Σ log π(a | s, s_g) − α per subgoal over the segmentations of a trajectory, and
predicts the next subgoal of *every* state, so each state of the data yields a training pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from hips.arrays import Ints
from hips.data.dataset import Trajectories
from hips.parts.detector.config import DetectorConfig
from hips.parts.detector.network import DetectorNetwork
from hips.parts.reach_policy.network import ReachPolicyNetwork
from hips.parts.reach_policy.train import (
    PolicyObjective,
    chunk_loss,
    next_action,
    segment_batch,
)
from hips.seeding import stream
from hips.training.batches import Batch, device_of, mean_metrics, parts
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter, Corpus, select_trajectories
from hips.training.loop import Stage
from hips.training.segments import (
    best_segmentation,
    discounted_returns,
    later_states,
    likeliest_following,
    mean_objective,
    mean_segment,
    pair_log_pi,
    segment_rewards,
)
from hips.training.workshop import Workshop

VALIDATION_TRAJECTORIES = 64
IMITATED = 256
_EPSILON = 1e-8


def detector_log_q(
    detector: DetectorNetwork, states: Tensor, offsets: Ints
) -> tuple[Tensor, Tensor]:
    """Log q(s_j | s_i) `[M, H]` for whole trajectories, and the values `[M]`."""
    queries, keys, values = detector.embed(states)
    positions, exists = later_states(offsets, detector.horizon)
    logits = detector.score(queries, keys[torch.from_numpy(positions).to(states.device)])
    possible = torch.from_numpy(exists).to(states.device)
    return logits.masked_fill(~possible, -1e9).log_softmax(dim=1), values


class SegmentationObjective(nn.Module):
    """Joint objective of detector and policy: REINFORCE with a value baseline, plus imitation.

    The policy scores every pair of nearby states once; then any number of segmentations can be
    sampled and scored at no cost, and every state, not only the ends of one segmentation, trains
    the detector.
    """

    def __init__(
        self,
        config: DetectorConfig,
        penalty: float,
        detector: DetectorNetwork,
        policy: ReachPolicyNetwork,
    ) -> None:
        super().__init__()
        self.config, self.penalty = config, penalty
        self.detector, self.policy = detector, policy

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Samples segmentations of each trajectory and scores them."""
        states, offsets = batch["trajectory_states"], batch["offsets"].cpu().numpy()
        actions = batch["trajectory_actions"]
        log_q, values = detector_log_q(self.detector, states, offsets)
        samples = self.config.samples
        chosen = torch.multinomial(log_q.detach().exp(), samples, replacement=True)
        returns = self._returns(states, actions, chosen, offsets)
        acting = torch.nonzero(actions >= 0).squeeze(1)
        log_q, chosen, returns = log_q[acting], chosen[acting], returns[acting]
        values = values[acting].unsqueeze(1)
        advantage = returns - values.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + _EPSILON)
        entropy = -(log_q.exp() * log_q).sum(dim=1).mean()
        loss = (
            -(advantage * log_q.gather(1, chosen)).mean()
            + 0.5 * (returns - values).pow(2).mean()
            - self.config.entropy_bonus * entropy
            + self._imitation(batch)
        )
        return loss, {
            "return": returns.mean(),
            "segment": (chosen + 1).float().mean(),
            "entropy": entropy.detach(),
        }

    def _returns(self, states: Tensor, actions: Tensor, chosen: Tensor, offsets: Ints) -> Tensor:
        """Discounted returns `[M, S]` of the sampled segmentations; a segment earns Σ log π − α."""
        mode = self.policy.training
        self.policy.eval()
        data = Trajectories(states.cpu().numpy(), actions.cpu().numpy(), offsets)
        log_pi = pair_log_pi(next_action(self.policy), data, self.detector.horizon)
        self.policy.train(mode)
        rewards = segment_rewards(log_pi, offsets, self.penalty)
        returns = discounted_returns(rewards, chosen.cpu().numpy(), offsets, self.config.discount)
        return torch.from_numpy(returns).float().to(states.device)

    def _imitation(self, batch: Batch) -> Tensor:
        """Mean NLL of the actions of random segments."""
        log_probabilities = self.policy(batch["states"], batch["subgoals"])
        return chunk_loss(log_probabilities, batch["actions"])[0]


class DetectorStage(Stage):
    """Joint training of detector and policy; a batch holds whole trajectories."""

    def __init__(
        self,
        config: DetectorConfig,
        penalty: float,
        detector: DetectorNetwork,
        policy: ReachPolicyNetwork,
        train: Corpus,
        valid: Corpus,
    ) -> None:
        self.schedule, self.train = config.training, train
        self.augment = Augmenter(train.domain)
        self.detector, self.policy, self.penalty = detector, policy, penalty
        self.objective = SegmentationObjective(config, penalty, detector, policy)
        count = min(VALIDATION_TRAJECTORIES, len(valid.offsets) - 1)
        self.valid = select_trajectories(valid, np.arange(count))
        rng = stream(0, "detector", "validation")
        self.segments = segment_batch(valid, None, rng, 2048, detector.horizon, policy.chunk)

    def rate_scales(self) -> dict[nn.Module, float]:
        """The policy is already trained, so it learns at a fifth of the rate."""
        return {self.detector: 1.0, self.policy: 0.2}

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Whole trajectories, plus some random segments that keep the policy general."""
        chosen = rng.choice(len(self.train.offsets) - 1, size=size)
        part = select_trajectories(self.train, chosen)
        horizon, chunk = self.detector.horizon, self.policy.chunk
        segments = segment_batch(self.train, self.augment, rng, IMITATED, horizon, chunk)
        return {
            "trajectory_states": torch.from_numpy(part.states),
            "trajectory_actions": torch.from_numpy(part.actions),
            "offsets": torch.from_numpy(part.offsets),
            **segments,
        }

    def validate(self) -> dict[str, float]:
        """The objective of the detector's and of the exact segmentation, on held-out data."""
        valid = self.valid
        following = _following(self.detector, valid)
        data = Trajectories(valid.states, valid.actions, valid.offsets)
        log_pi = pair_log_pi(next_action(self.policy), data, self.detector.horizon)
        penalty = self.penalty
        found = mean_objective(log_pi, following, self.valid.offsets, penalty)
        exact, _ = best_segmentation(log_pi, self.valid.offsets, penalty)
        best = mean_objective(log_pi, exact, self.valid.offsets, penalty)
        scores = mean_metrics(PolicyObjective(self.policy), self.segments)
        return {
            "score": -found,
            "objective": found,
            "dp_objective": best,
            "segment": mean_segment(following, self.valid.offsets),
            "dp_segment": mean_segment(exact, self.valid.offsets),
            "first_accuracy": scores["first_accuracy"],
            "chunk_accuracy": scores["chunk_accuracy"],
        }


def _following(detector: DetectorNetwork, corpus: Corpus) -> Ints:
    """The detector's most likely next subgoal of every state `[M]`."""
    queries, keys = [], []
    with torch.no_grad():
        for part in parts({"states": torch.from_numpy(corpus.states)}, device_of(detector)):
            query, key, _ = detector.embed(part["states"])
            queries.append(query.cpu().numpy())
            keys.append(key.cpu().numpy())
    bias = detector.distance_bias.detach().cpu().numpy()
    return likeliest_following(np.concatenate(queries), np.concatenate(keys), bias, corpus.offsets)


def build(workshop: Workshop) -> DetectorStage:
    """The stage of a run."""
    return DetectorStage(
        workshop.config.parts["detector"],
        workshop.config.segmentation.penalty,
        cast(DetectorNetwork, workshop.network("detector")),
        cast(ReachPolicyNetwork, workshop.network("reach_policy")),
        workshop.train,
        workshop.valid,
    )


def stages(config: TrainingConfig) -> Sequence[StageSpec]:
    """REINFORCE, after the policy's imitation stage."""
    return (StageSpec("detector.training", build, ("reach_policy.imitation",)),)

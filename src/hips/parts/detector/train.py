"""Training of the detector: REINFORCE, jointly with the reach policy, as published.

It maximises Σ log π(a | s, s_g) − α per subgoal over the segmentations of a trajectory, while the
policy learns from the segments that the detector samples. The detector predicts the next subgoal
of *every* state, so each state of the data yields a training pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from hips.arrays import Floats, Ints
from hips.data.dataset import Trajectories
from hips.parts.detector import DISTILLED, POLICY
from hips.parts.detector.config import DetectorConfig
from hips.parts.detector.network import DetectorNetwork
from hips.parts.reach_policy.alternation import (
    RANDOM_SEGMENTS,
    frozen_log_pi,
    segment_loss,
    trajectories_of,
    trajectory_batch,
)
from hips.parts.reach_policy.network import ReachPolicyNetwork
from hips.parts.reach_policy.train import PolicyObjective, segment_batch
from hips.seeding import stream
from hips.training.batches import Batch, device_of, mean_metrics
from hips.training.config import TrainingConfig
from hips.training.contract import StageSpec
from hips.training.corpus import Augmenter, Corpus, select_trajectories
from hips.training.loop import Stage
from hips.training.segments import (
    against_optimum,
    discounted_returns,
    follow_chain,
    likeliest_following,
    pair_scores,
    segment_rewards,
)
from hips.training.workshop import Workshop

VALIDATION_TRAJECTORIES = 32
VALIDATION_SEGMENTS = 2048
_EPSILON = 1e-8


class SegmentationObjective(nn.Module):
    """Joint objective of detector and policy: REINFORCE, plus imitation of sampled segments.

    The policy scores every pair of near states once; then any number of segmentations can be
    sampled and scored at no cost, and every state, not only the ends of one segmentation, trains
    the detector. The baseline of a sample is the mean return of the others from the same state.
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
        self.detector, self.imitation = detector, PolicyObjective(policy)

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Samples segmentations of each trajectory and scores them."""
        data = trajectories_of(batch)
        log_q = self.detector.log_q(batch["trajectory_states"], data.offsets)
        samples = self.config.samples
        chosen = torch.multinomial(log_q.detach().exp(), samples, replacement=True)
        returns = self._returns(data, chosen.cpu().numpy()).to(log_q.device)
        acting = torch.nonzero(batch["trajectory_actions"] >= 0).squeeze(1)
        reinforced, entropy = self._reinforce(log_q[acting], chosen[acting], returns[acting])
        segmented = segment_loss(self.imitation, data, _ends(data, chosen[:, 0].cpu().numpy()))
        random, _ = self.imitation(batch)
        loss = reinforced - self.config.entropy_bonus * entropy + segmented + random
        return loss, {
            "return": returns[acting].mean(),
            "segment": (chosen[acting] + 1).float().mean(),
            "entropy": entropy.detach(),
        }

    def _returns(self, data: Trajectories, chosen: Ints) -> Tensor:
        """Discounted returns `[M, S]` of the sampled segmentations; a segment earns Σ log π − α."""
        log_pi = frozen_log_pi(self.imitation.policy, data, self.detector.horizon)
        rewards = segment_rewards(log_pi, data.offsets, self.penalty)
        returns = discounted_returns(rewards, chosen, data.offsets, self.config.discount)
        return torch.from_numpy(returns).float()

    def _reinforce(self, log_q: Tensor, chosen: Tensor, returns: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of the samples `[M, S]` and the entropy of log q `[M, H]`."""
        samples = returns.shape[1]
        others = (returns.sum(dim=1, keepdim=True) - returns) / (samples - 1)
        advantage = returns - others
        advantage = advantage / (advantage.std() + _EPSILON)
        entropy = -(log_q.exp() * log_q).sum(dim=1).mean()
        return -(advantage * log_q.gather(1, chosen)).mean(), entropy


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
        self.augment = Augmenter.of(train)
        self.detector, self.policy, self.penalty = detector, policy, penalty
        self.objective: SegmentationObjective = SegmentationObjective(
            config, penalty, detector, policy
        )
        count = min(VALIDATION_TRAJECTORIES, len(valid.offsets) - 1)
        self.valid = select_trajectories(valid, np.arange(count)).trajectories
        rng = stream(0, "detector", "validation")
        size, horizon = VALIDATION_SEGMENTS, detector.horizon
        self.segments = segment_batch(valid, None, rng, size, horizon, policy.chunk)

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Whole trajectories, plus some random segments that keep the policy general."""
        horizon, chunk = self.detector.horizon, self.policy.chunk
        return {
            **trajectory_batch(self.train, rng, size),
            **segment_batch(self.train, self.augment, rng, RANDOM_SEGMENTS, horizon, chunk),
        }

    def following(self, data: Trajectories) -> Ints:
        """The detector's most likely next subgoal of every state `[M]`."""
        detector, device = self.detector.eval(), device_of(self.detector)

        def score(rows: Ints, subgoals: Ints) -> Floats:
            with torch.no_grad():
                pairs = (torch.from_numpy(data.states[one]).to(device) for one in (rows, subgoals))
                found: Floats = detector(*pairs).double().cpu().numpy()
            return found

        scores = pair_scores(score, data.offsets, detector.horizon)
        return likeliest_following(scores, data.offsets)

    def validate(self) -> dict[str, float]:
        """The objective of the detector's and of the exact segmentation, on held-out data."""
        following = self.following(self.valid)
        log_pi = frozen_log_pi(self.policy, self.valid, self.detector.horizon)
        found = against_optimum(log_pi, following, self.valid.offsets, self.penalty)
        scores = mean_metrics(self.objective.imitation, self.segments)
        return {
            "score": -found["objective"],
            **found,
            "first_accuracy": scores["first_accuracy"],
            "chunk_accuracy": scores["chunk_accuracy"],
        }


def _ends(data: Trajectories, chosen: Ints) -> Ints:
    """The end `[M]` of each state's segment, given the chosen column `[M]` of every state."""
    last = data.offsets[1:] - 1
    following = np.arange(len(chosen)) + 1 + chosen
    following[last] = last
    return follow_chain(following, data.offsets)[0]


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
    """REINFORCE with the policy, or on exact values under the finished policy."""
    from hips.parts.detector import distillation

    if config.segmentation.method == DISTILLED:
        return (StageSpec("detector.distillation", distillation.build, (POLICY,)),)
    return (StageSpec("detector.training", build, ("reach_policy.imitation",)),)

"""Stage 1b: where subgoals lie. The detector by REINFORCE, and exact dynamic programming.

Both maximise Σ log π(a | s, s_g) − α per subgoal over the segmentations of a trajectory. Either
gives for *every* state its next subgoal, so each state of the data becomes a training pair.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from numba import njit
from torch import Tensor, nn

from hips.domains import Actions, Grids
from hips.models.networks.heads import Detector, ReachPolicy
from hips.models.segments import (
    best_segmentation,
    later_states,
    likeliest_following,
    mean_objective,
    mean_segment,
)
from hips.seeding import stream
from hips.training.batches import Batch, device_of, mean_metrics, parts
from hips.training.config import DetectorConfig
from hips.training.corpus import Augmenter, Corpus, Indices
from hips.training.loop import Stage
from hips.training.policy import PolicyObjective, chunk_loss, segment_batch

FORWARD_BATCH = 2048
VALIDATION_TRAJECTORIES = 64
IMITATED = 256
_EPSILON = 1e-8

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def segment_rewards(log_pi: Floats, offsets: Indices, penalty: float) -> Floats:
    """Σ log π − α of every segment: `[M, H]`, the one from state i to i + d in column d − 1.

    Args:
        log_pi: `[M, H]`, log π(a_t | s_t, s_{t+d}) in column d − 1.
        offsets: `[N + 1]`, where trajectories start.
        penalty: α.
    """
    horizon = log_pi.shape[1]
    rewards = np.full(log_pi.shape, -np.inf)
    for n in range(len(offsets) - 1):
        last = offsets[n + 1] - 1
        for i in range(offsets[n], last):
            for j in range(i + 1, min(i + horizon, last) + 1):
                total = -penalty
                for t in range(i, j):
                    total += log_pi[t, j - t - 1]
                rewards[i, j - i - 1] = total
    return rewards


@njit(cache=True)
def discounted_returns(
    rewards: Floats, chosen: Indices, offsets: Indices, discount: float
) -> Floats:
    """Return of every state along its chain of chosen subgoals, `[M, S]`.

    Args:
        rewards: `[M, H]` as from `segment_rewards`.
        chosen: `[M, S]`, for each of S samples the column of the next subgoal.
        offsets: `[N + 1]`.
        discount: γ, per segment.
    """
    returns = np.zeros(chosen.shape)
    for n in range(len(offsets) - 1):
        for i in range(offsets[n + 1] - 2, offsets[n] - 1, -1):
            for sample in range(chosen.shape[1]):
                column = chosen[i, sample]
                following = returns[i + column + 1, sample]
                returns[i, sample] = rewards[i, column] + discount * following
    return returns


def detector_log_q(detector: Detector, states: Tensor, offsets: Indices) -> tuple[Tensor, Tensor]:
    """Log q(s_j | s_i) `[M, H]` for whole trajectories, and the values `[M]`."""
    queries, keys, values = detector.embed(states)
    positions, exists = later_states(offsets, detector.horizon)
    logits = detector.score(queries, keys[torch.from_numpy(positions).to(states.device)])
    possible = torch.from_numpy(exists).to(states.device)
    return logits.masked_fill(~possible, -1e9).log_softmax(dim=1), values


class SegmentationObjective(nn.Module):
    """Detector and policy together: REINFORCE with a value baseline, and imitation.

    The policy is asked once for every pair of near states; then any number of segmentations can
    be sampled and scored at no cost, and every state, not only the ends of one segmentation,
    teaches the detector.
    """

    def __init__(self, config: DetectorConfig, detector: Detector, policy: ReachPolicy) -> None:
        super().__init__()
        self.config, self.detector, self.policy = config, detector, policy

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

    def _returns(self, states: Tensor, actions: Tensor, chosen: Tensor, offsets: Indices) -> Tensor:
        """Discounted returns `[M, S]` of the sampled segmentations; a segment earns Σ log π − α."""
        mode = self.policy.training
        self.policy.eval()
        grids, taken = states.cpu().numpy(), actions.cpu().numpy()
        log_pi = pair_log_pi(self.policy, grids, taken, offsets, self.detector.horizon)
        self.policy.train(mode)
        rewards = segment_rewards(log_pi, offsets, self.config.segment_penalty)
        returns = discounted_returns(rewards, chosen.cpu().numpy(), offsets, self.config.discount)
        return torch.from_numpy(returns).float().to(states.device)

    def _imitation(self, batch: Batch) -> Tensor:
        """Mean NLL of the actions of random segments."""
        log_probabilities = self.policy(batch["states"], batch["subgoals"])
        return chunk_loss(log_probabilities, batch["actions"])[0]


class DetectorStage(Stage):
    """Joint training of detector and policy; a batch holds whole trajectories."""

    name = "detector"

    def __init__(
        self,
        config: DetectorConfig,
        detector: Detector,
        policy: ReachPolicy,
        train: Corpus,
        valid: Corpus,
    ) -> None:
        self.config, self.train, self.augment = config, train, Augmenter(train.domain)
        self.detector, self.policy = detector, policy
        self.penalty = config.segment_penalty
        self.objective = SegmentationObjective(config, detector, policy)
        count = min(VALIDATION_TRAJECTORIES, len(valid.offsets) - 1)
        self.valid = select_trajectories(valid, np.arange(count))
        rng = stream(0, self.name, "validation")
        self.segments = segment_batch(valid, None, rng, 2048, detector.horizon, policy.chunk)

    def rate_scales(self) -> dict[nn.Module, float]:
        """The policy comes trained: it only follows, at a fifth of the learning rate."""
        return {self.detector: 1.0, self.policy: 0.2}

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Whole trajectories, and some random segments that keep the policy broad."""
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
        following = detector_following(self.detector, self.valid)
        valid, horizon = self.valid, self.detector.horizon
        log_pi = pair_log_pi(self.policy, valid.states, valid.actions, valid.offsets, horizon)
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


def select_trajectories(corpus: Corpus, chosen: Indices) -> Corpus:
    """Some trajectories of a corpus, one after the other."""
    lengths = np.diff(corpus.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    source = np.repeat(corpus.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
    last = np.repeat(offsets[1:] - 1, lengths)
    return Corpus(corpus.domain, corpus.states[source], corpus.actions[source], offsets, last)


def detector_following(detector: Detector, corpus: Corpus) -> Indices:
    """The detector's most likely next subgoal of every state `[M]`."""
    queries, keys = [], []
    with torch.no_grad():
        for part in parts({"states": torch.from_numpy(corpus.states)}, device_of(detector)):
            query, key, _ = detector.embed(part["states"])
            queries.append(query.cpu().numpy())
            keys.append(key.cpu().numpy())
    bias = detector.distance_bias.detach().cpu().numpy()
    return likeliest_following(np.concatenate(queries), np.concatenate(keys), bias, corpus.offsets)


def pair_log_pi(
    policy: ReachPolicy, states: Grids, actions: Actions, offsets: Indices, horizon: int
) -> Floats:
    """Log π(a_t | s_t, s_{t+d}) for every state and d = 1 … H, `[M, H]`; −inf where none."""
    positions, exists = later_states(offsets, horizon)
    rows, columns = np.nonzero(exists)
    subgoals = positions[rows, columns]
    log_pi = np.full(exists.shape, -np.inf)
    device = device_of(policy)
    for first in range(0, len(rows), FORWARD_BATCH):
        part = slice(first, first + FORWARD_BATCH)
        starts = torch.from_numpy(states[rows[part]]).to(device)
        ends = torch.from_numpy(states[subgoals[part]]).to(device)
        with torch.no_grad():
            log_probabilities = policy(starts, ends)[:, 0].cpu().numpy()
        taken = actions[rows[part]][:, None]
        log_pi[rows[part], columns[part]] = np.take_along_axis(log_probabilities, taken, axis=1)[
            :, 0
        ]
    return log_pi

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

from hips.models.networks.heads import Detector, ReachPolicy
from hips.models.segments import (
    best_segmentation,
    follow_chain,
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
from hips.training.policy import PolicyObjective, chunk_loss, pair_batch, segment_batch

FORWARD_BATCH = 2048
VALIDATION_TRAJECTORIES = 64
_EPSILON = 1e-8

Floats = npt.NDArray[np.float64]


@njit(cache=True)
def discounted_returns(
    rewards: Floats, is_start: Indices, ends: Indices, offsets: Indices, discount: float
) -> Floats:
    """Return of each segment start: its reward plus the discounted return of the next segment."""
    returns = np.zeros(len(rewards))
    for n in range(len(offsets) - 1):
        last = offsets[n + 1] - 1
        for t in range(last - 1, offsets[n] - 1, -1):
            if is_start[t]:
                returns[t] = rewards[t] + discount * returns[ends[t]]
    return returns


def detector_log_q(detector: Detector, states: Tensor, offsets: Indices) -> tuple[Tensor, Tensor]:
    """Log q(s_j | s_i) `[M, H]` for whole trajectories, and the values `[M]`."""
    queries, keys, values = detector.embed(states)
    positions, exists = later_states(offsets, detector.horizon)
    logits = detector.score(queries, keys[torch.from_numpy(positions).to(states.device)])
    possible = torch.from_numpy(exists).to(states.device)
    return logits.masked_fill(~possible, -1e9).log_softmax(dim=1), values


class SegmentationObjective(nn.Module):
    """Detector and policy together: REINFORCE with a value baseline, and imitation."""

    def __init__(self, config: DetectorConfig, detector: Detector, policy: ReachPolicy) -> None:
        super().__init__()
        self.config, self.detector, self.policy = config, detector, policy

    def forward(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """Samples a segmentation of each trajectory and scores it."""
        states, offsets = batch["trajectory_states"], batch["offsets"].cpu().numpy()
        log_q, values = detector_log_q(self.detector, states, offsets)
        chosen = torch.multinomial(log_q.detach().exp(), 1).squeeze(1)
        following = np.arange(len(states)) + 1 + chosen.cpu().numpy()
        ends, is_start = follow_chain(following, offsets)
        random_log = self.policy(batch["states"], batch["subgoals"])
        random_loss, _ = chunk_loss(random_log, batch["actions"])
        log_pi, imitation = self._imitate(batch, ends)
        starts = torch.from_numpy(np.flatnonzero(is_start)).to(states.device)
        returns = self._returns(log_pi, ends, is_start, offsets)[starts]
        taken = log_q[starts].gather(1, chosen[starts].unsqueeze(1)).squeeze(1)
        advantage = returns - values[starts].detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + _EPSILON)
        entropy = -(log_q[starts].exp() * log_q[starts]).sum(dim=1).mean()
        loss = (
            -(advantage * taken).mean()
            + 0.5 * (returns - values[starts]).pow(2).mean()
            - self.config.entropy_bonus * entropy
            + imitation
            + random_loss
        )
        lengths = len(states) / max(1, len(starts))
        return loss, {
            "objective": returns.mean(),
            "segment": torch.tensor(lengths),
            "entropy": entropy.detach(),
        }

    def _imitate(self, batch: Batch, ends: Indices) -> tuple[Tensor, Tensor]:
        """Log π of every action towards the end of its segment `[M]`, and the mean NLL."""
        states, actions = batch["trajectory_states"], batch["trajectory_actions"]
        subgoals = states[torch.from_numpy(ends).to(states.device)]
        log_probabilities = self.policy(states, subgoals)[:, :1]
        acting = (actions >= 0).float()
        _, first = chunk_loss(log_probabilities, actions.unsqueeze(1))
        return (-first * acting).detach(), (first * acting).sum() / acting.sum()

    def _returns(
        self, log_pi: Tensor, ends: Indices, is_start: Indices, offsets: Indices
    ) -> Tensor:
        """Discounted returns of the segment starts `[M]`; a segment earns Σ log π − α."""
        summed = np.concatenate([[0.0], np.cumsum(log_pi.cpu().numpy().astype(np.float64))])
        rewards = summed[ends] - summed[:-1] - self.config.segment_penalty
        returns = discounted_returns(rewards, is_start, ends, offsets, self.config.discount)
        return torch.from_numpy(returns).float().to(log_pi.device)


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

    def batch(self, rng: np.random.Generator, size: int) -> Batch:
        """Whole trajectories, and some random segments that keep the policy broad."""
        chosen = rng.choice(len(self.train.offsets) - 1, size=size)
        part = select_trajectories(self.train, chosen)
        horizon, chunk = self.detector.horizon, self.policy.chunk
        count = len(part.states) // 4
        segments = segment_batch(self.train, self.augment, rng, count, horizon, chunk)
        return {
            "trajectory_states": torch.from_numpy(part.states),
            "trajectory_actions": torch.from_numpy(part.actions),
            "offsets": torch.from_numpy(part.offsets),
            **segments,
        }

    def validate(self) -> dict[str, float]:
        """The objective of the detector's and of the exact segmentation, on held-out data."""
        following = detector_following(self.detector, self.valid)
        log_pi = pair_log_pi(self.policy, self.valid, self.detector.horizon)
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


def pair_log_pi(policy: ReachPolicy, corpus: Corpus, horizon: int) -> Floats:
    """Log π(a_t | s_t, s_{t+d}) for every state and d = 1 … H, `[M, H]`; −inf where none."""
    positions, exists = later_states(corpus.offsets, horizon)
    rows, columns = np.nonzero(exists)
    log_pi = np.full(exists.shape, -np.inf)
    rng = stream(0, "unused")
    device = device_of(policy)
    for first in range(0, len(rows), FORWARD_BATCH):
        part = slice(first, first + FORWARD_BATCH)
        starts, ends = rows[part], positions[rows[part], columns[part]]
        batch = pair_batch(corpus, None, rng, starts, ends, 1)
        with torch.no_grad():
            log_probabilities = policy(batch["states"].to(device), batch["subgoals"].to(device))
            _, first_nll = chunk_loss(log_probabilities[:, :1].cpu(), batch["actions"])
        log_pi[rows[part], columns[part]] = -first_nll.numpy()
    return log_pi

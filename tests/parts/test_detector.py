"""The detector: REINFORCE finds a planted segmentation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from hips.parts.detector.config import DetectorConfig
from hips.parts.detector.train import SegmentationObjective, detector_log_q
from hips.training.segments import follow_chain, likeliest_following


class PlantedDetector(nn.Module):
    """Scores from the state's own number: enough to learn any segmentation of one line."""

    def __init__(self, length: int, horizon: int) -> None:
        super().__init__()
        self.horizon, self.width = horizon, 16
        self.table = nn.Embedding(length, 33)
        nn.init.normal_(self.table.weight, std=0.3)
        self.distance_bias = nn.Parameter(torch.zeros(horizon))

    def embed(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        joint = self.table(states[:, 0, 0].long())
        return joint[:, :16], joint[:, 16:32], joint[:, 32]

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (queries.unsqueeze(1) * keys).sum(-1) / 4.0 + self.distance_bias


class PlantedPolicy(nn.Module):
    """Knows the way only towards every third state; other subgoals leave it guessing."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        known = (subgoals[:, 0, 0] % 3 == 0).float()
        sure = torch.stack([known * -0.01 + (1 - known) * -3.0, torch.full_like(known, -3.0)], 1)
        return (sure + 0.0 * self.unused).unsqueeze(1)


def test_reinforce_finds_the_planted_segmentation() -> None:
    length, trajectories = 13, 16
    torch.manual_seed(0)
    detector, policy = PlantedDetector(length, 5), PlantedPolicy()
    config = DetectorConfig(entropy_bonus=0.02)
    objective = SegmentationObjective(config, 0.1, detector, policy)  # type: ignore[arg-type]
    states = torch.arange(length, dtype=torch.uint8).repeat(trajectories).view(-1, 1, 1)
    actions = torch.zeros(length * trajectories, dtype=torch.long)
    actions[length - 1 :: length] = -1
    batch = {
        "trajectory_states": states,
        "trajectory_actions": actions,
        "offsets": torch.arange(0, length * trajectories + 1, length),
        "states": states,
        "subgoals": states,
        "actions": actions.unsqueeze(1),
    }
    optimizer = torch.optim.Adam(objective.parameters(), lr=0.02)
    for _ in range(400):
        loss, _ = objective(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    offsets = np.array([0, length])
    queries, keys, _ = detector.embed(states[:length])
    following = likeliest_following(
        queries.detach().numpy(), keys.detach().numpy(),
        detector.distance_bias.detach().numpy(), offsets,
    )  # fmt: skip
    _, is_start = follow_chain(following, offsets)
    assert np.flatnonzero(is_start).tolist() == [0, 3, 6, 9]
    log_q, _ = detector_log_q(detector, states[:length], offsets)  # type: ignore[arg-type]
    assert (log_q.argmax(1).numpy()[:-1] + 1 + np.arange(12) == following[:-1]).all()

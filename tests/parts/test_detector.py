"""The detector: REINFORCE finds a planted segmentation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape
from hips.parts.detector.config import DetectorConfig
from hips.parts.detector.network import DetectorNetwork
from hips.parts.detector.train import SegmentationObjective
from hips.training.segments import follow_chain, likeliest_following

LENGTH, TRAJECTORIES, HORIZON = 13, 4, 5


class PlantedPolicy(nn.Module):
    """Knows the way only towards every third state; other subgoals leave it guessing."""

    chunk = 1

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, states: Tensor, subgoals: Tensor) -> Tensor:
        known = (subgoals[:, 0].argmax(dim=1) % 3 == 0).float()
        sure = torch.stack([known * -0.01 + (1 - known) * -3.0, torch.full_like(known, -3.0)], 1)
        return (sure + 0.0 * self.unused).unsqueeze(1)


def test_reinforce_finds_the_planted_segmentation() -> None:
    """A walk along a line: the subgoals that pay are the cells 3, 6, 9 and 12."""
    torch.manual_seed(0)
    shape = GridShape(1, LENGTH, 2, 2)
    detector, policy = DetectorNetwork(shape, TrunkConfig(8, 1), HORIZON), PlantedPolicy()
    config = DetectorConfig(entropy_bonus=0.02)
    objective = SegmentationObjective(config, 0.1, detector, policy)  # type: ignore[arg-type]
    walk = torch.eye(LENGTH, dtype=torch.uint8).unsqueeze(1)
    states = walk.repeat(TRAJECTORIES, 1, 1)
    actions = torch.zeros(len(states), dtype=torch.long)
    actions[LENGTH - 1 :: LENGTH] = -1
    batch = {
        "trajectory_states": states,
        "trajectory_actions": actions,
        "offsets": torch.arange(0, len(states) + 1, LENGTH),
        "states": states,
        "subgoals": states,
        "actions": actions.unsqueeze(1),
    }
    optimizer = torch.optim.Adam(objective.parameters(), lr=0.01)
    for _ in range(150):
        loss, _ = objective(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    offsets = np.array([0, LENGTH])
    with torch.no_grad():
        log_q = detector.eval().log_q(walk, offsets)
    assert torch.allclose(log_q.exp().sum(dim=1), torch.ones(LENGTH))
    following = likeliest_following(log_q.double().numpy(), offsets)
    _, is_start = follow_chain(following, offsets)
    assert np.flatnonzero(is_start).tolist() == [0, 3, 6, 9]

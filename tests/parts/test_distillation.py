"""The detector learns from exact values, and its choices do not follow accidents."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from hips.arrays import Floats, Grids, Ints
from hips.data.dataset import Trajectories
from hips.models.runtime import GraphRuntime
from hips.parts.blocks.config import TrunkConfig
from hips.parts.blocks.layers import GridShape
from hips.parts.detector.adapter import LearnedDetector
from hips.parts.detector.config import DetectorConfig
from hips.parts.detector.distillation import DistillationStage, advantages, expected_values
from hips.parts.detector.graphs import graphs
from hips.parts.detector.network import DetectorNetwork
from hips.seeding import stream
from hips.training.segments import best_segmentation, later_states, segment_rewards
from hips.training.torch_runtime import TorchGraph

LENGTH, HORIZON, PENALTY = 13, 5, 0.1


def value_of(log_pi: Floats, cuts: tuple[int, ...]) -> float:
    """Σ log π − α of the segmentation that ends at `cuts`."""
    total = 0.0
    for start, end in itertools.pairwise(cuts):
        total += sum(log_pi[t, end - t - 1] for t in range(start, end)) - PENALTY
    return total


def test_values_are_means_over_all_segmentations() -> None:
    rng = stream(0, "values")
    offsets = np.array([0, 6])
    _, exists = later_states(offsets, 3)
    log_pi = np.where(exists, -rng.random((6, 3)), -np.inf)
    q = np.where(exists, rng.random((6, 3)), 0.0)
    q /= np.maximum(q.sum(axis=1, keepdims=True), 1e-9)
    found = expected_values(segment_rewards(log_pi, offsets, PENALTY), q, offsets)
    middles = [cuts for n in range(5) for cuts in itertools.combinations(range(1, 5), n)]
    ways = [(0, *cuts, 5) for cuts in middles]
    ways = [way for way in ways if max(np.diff(way)) <= 3]
    chances = [np.prod([q[i, j - i - 1] for i, j in itertools.pairwise(way)]) for way in ways]
    mean = sum(c * value_of(log_pi, way) for c, way in zip(chances, ways, strict=True))
    assert sum(chances) == pytest.approx(1.0)
    assert found[0] == pytest.approx(mean)
    gains = advantages(segment_rewards(log_pi, offsets, PENALTY), q, offsets)
    assert np.abs((q * gains).sum(axis=1)).max() < 1e-12
    assert (gains[~exists] == 0).all()


class PlantedPolicy:
    """Knows the way only towards every third state; elsewhere what it knows is an accident."""

    def __init__(self) -> None:
        self.rng = stream(0, "accidents")

    def next_action(self, states: Grids, subgoals: Grids) -> Floats:
        known = subgoals[:, 0].argmax(axis=1) % 3 == 0
        sure = np.where(known, -0.02, -3.0) * self.rng.uniform(0.5, 1.5, size=len(states))
        return np.stack([sure, np.full(len(states), -3.0)], axis=1)


def walks(count: int) -> Trajectories:
    states = np.tile(np.eye(LENGTH, dtype=np.uint8)[:, None], (count, 1, 1))
    actions = np.zeros(len(states), dtype=np.int64)
    actions[LENGTH - 1 :: LENGTH] = -1
    return Trajectories(states, actions, np.arange(0, len(states) + 1, LENGTH))


def chain(following: Ints) -> list[int]:
    cuts = [0]
    while following[cuts[-1]] != cuts[-1]:
        cuts.append(int(following[cuts[-1]]))
    return cuts


def test_the_detector_learns_the_optimum_without_its_accidents() -> None:
    torch.manual_seed(0)
    network = DetectorNetwork(GridShape(1, LENGTH, 2, 2), TrunkConfig(8, 1), HORIZON)
    graph = graphs(network)[0]
    judge = LearnedDetector(
        GraphRuntime({graph.name: TorchGraph(graph.module, torch.device("cpu"))})
    )
    train, valid = walks(40), walks(4)
    stage = DistillationStage(
        DetectorConfig(), PENALTY, network, judge, PlantedPolicy(), (train, valid)
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    rng = stream(0, "batches")
    first = stage.validate()
    for _ in range(150):
        network.train()
        loss, _ = stage.objective(stage.batch(rng, 4))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.eval()
    last = stage.validate()
    assert first["objective"] < last["objective"] <= last["exact_objective"] + 1e-9
    following = judge.following(train, HORIZON)
    own = {tuple(chain(following[i * LENGTH : (i + 1) * LENGTH] - i * LENGTH)) for i in range(40)}
    assert own == {(0, 3, 6, 9, 12)}
    exact = best_segmentation(stage.log_pi, valid.offsets, PENALTY)[0]
    assert chain(exact[:LENGTH]) == [0, 3, 6, 9, 12]

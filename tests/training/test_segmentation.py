from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from hips.demonstrations import Demonstrations
from hips.errors import DatasetError
from hips.models.segments import (
    best_segmentation,
    follow_chain,
    likeliest_following,
    mean_objective,
    mean_segment,
)
from hips.seeding import stream
from hips.training.config import DetectorConfig, Segmentation, TrainingConfig, override
from hips.training.pipeline import Pipeline
from hips.training.progress import Reporter
from hips.training.segmentation import (
    SegmentationObjective,
    detector_log_q,
    discounted_returns,
    segment_rewards,
)
from hips.training.world import World


def test_a_chain_covers_its_trajectory() -> None:
    following = np.array([2, 3, 4, 4, 4, 6, 6])
    ends, is_start = follow_chain(following, np.array([0, 5, 7]))
    assert ends.tolist() == [2, 2, 4, 4, 4, 6, 6]
    assert is_start.tolist() == [1, 0, 1, 0, 0, 1, 0]
    assert mean_segment(following, np.array([0, 5, 7])) == 5 / 3


@given(st.integers(1, 7), st.integers(1, 4), st.floats(0.0, 3.0), st.integers(0, 10_000))
def test_dynamic_programming_is_exact(steps: int, horizon: int, penalty: float, seed: int) -> None:
    log_pi = -stream(seed, "log pi").exponential(size=(steps + 1, horizon))
    offsets = np.array([0, steps + 1])
    following, value = best_segmentation(log_pi, offsets, penalty)
    best = max(
        _objective(log_pi, cuts, steps, horizon, penalty)
        for count in range(steps)
        for cuts in itertools.combinations(range(1, steps), count)
    )
    assert np.isclose(value[0], best)
    assert np.isclose(mean_objective(log_pi, following, offsets, penalty), best)


def _objective(
    log_pi: np.ndarray, cuts: tuple[int, ...], steps: int, horizon: int, penalty: float
) -> float:
    bounds = [0, *cuts, steps]
    total = 0.0
    for start, end in itertools.pairwise(bounds):
        if end - start > horizon:
            return -np.inf
        total += sum(log_pi[t, end - t - 1] for t in range(start, end)) - penalty
    return total


def test_segments_earn_their_actions_less_the_penalty() -> None:
    log_pi = np.array([[-1.0, -2.0], [-4.0, -np.inf], [-np.inf, -np.inf]])
    rewards = segment_rewards(log_pi, np.array([0, 3]), 0.5)
    # To the next state; over two states: both actions towards the same subgoal.
    assert rewards[0].tolist() == [-1.5, -2.0 - 4.0 - 0.5]
    assert rewards[1, 0] == -4.5


def test_returns_are_discounted_per_segment() -> None:
    rewards = np.array([[1.0, 5.0], [2.0, 7.0], [3.0, 0.0], [0.0, 0.0]])
    chosen = np.array([[0, 1], [1, 0], [0, 0], [0, 0]])
    returns = discounted_returns(rewards, chosen, np.array([0, 4]), 0.5)
    assert returns[0].tolist() == [1.0 + 0.5 * 7.0, 5.0 + 0.5 * 3.0]
    assert returns[1].tolist() == [7.0, 2.0 + 0.5 * 3.0]


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
    config = DetectorConfig(entropy_bonus=0.02, segment_penalty=0.1)
    objective = SegmentationObjective(config, detector, policy)  # type: ignore[arg-type]
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


def make_pipeline(
    config: TrainingConfig, demos: Demonstrations, folder: Path, segmentation: Segmentation
) -> Pipeline:
    chosen = [f"segmentation={segmentation}", "horizon=3", "segmented=20"]
    alone = World(0, 1, torch.device("cpu"))
    return Pipeline(override(config, chosen), demos, folder, alone, Reporter(None))


def test_events_give_the_pairs_of_all_trajectories(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    """In the puzzle every move can be undone, so subgoals are a horizon on."""
    work = make_pipeline(config, demos, tmp_path, "events")
    train, valid = work.pairs()
    for pairs, corpus in ((train, work.train), (valid, work.valid)):
        assert len(pairs.corpus.offsets) == len(corpus.offsets)
        expected = np.minimum(np.arange(len(corpus.last)) + 3, corpus.last)
        assert (pairs.following == expected).all()
    batch = train.draw(stream(0, "pairs"), 32, augment=False)
    assert (batch["states"] != batch["subgoals"]).flatten(1).any(dim=1).all()


@pytest.mark.parametrize(("segmentation", "kept"), [("dp", 20), ("detector", None)])
def test_only_the_exact_segmentation_takes_few_trajectories(
    config: TrainingConfig,
    demos: Demonstrations,
    tmp_path: Path,
    segmentation: Segmentation,
    kept: int | None,
) -> None:
    work = make_pipeline(config, demos, tmp_path, segmentation)
    pairs = work.pairs()[0]
    assert len(pairs.corpus.offsets) - 1 == (kept or len(work.train.offsets) - 1)
    distance = pairs.following - np.arange(len(pairs.following))
    ends = pairs.corpus.last == np.arange(len(pairs.following))
    assert (distance[ends] == 0).all()
    assert ((distance[~ends] >= 1) & (distance[~ends] <= 3)).all()


def test_a_segmentation_is_kept_and_belongs_to_its_demonstrations(
    config: TrainingConfig, demos: Demonstrations, tmp_path: Path
) -> None:
    first = make_pipeline(config, demos, tmp_path, "events").pairs()[0]
    path = tmp_path / "segmentation-events-train.npz"
    np.savez(path, following=np.maximum(first.following - 1, 0))
    again = make_pipeline(config, demos, tmp_path, "events").pairs()[0]
    assert (again.following == np.maximum(first.following - 1, 0)).all()
    np.savez(path, following=first.following[:-1])
    with pytest.raises(DatasetError, match="other demonstrations"):
        make_pipeline(config, demos, tmp_path, "events").pairs()

"""Segmentation and policy in turn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from hips import parts
from hips.parts.reach_policy.alternation import AlternationStage, build, trajectories_of
from hips.parts.reach_policy.train import next_action
from hips.seeding import stream
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.pipeline import ordered_stages
from hips.training.segments import best_segmentation, mean_objective, pair_log_pi
from tests.models.untrained import untrained, workshop


def stage(config: TrainingConfig, corpus: Corpus) -> AlternationStage:
    chosen = override(config, ["segmentation.method=alternating", "horizon=3"])
    domain = corpus.domain
    return build(workshop(domain, chosen, untrained(domain, chosen), Path(), corpus))


def test_the_objective_never_falls_on_a_fixed_batch(config: TrainingConfig, corpus: Corpus) -> None:
    """Full steps of segmentation, small ones of the policy: both raise Σ log π − α."""
    made = stage(config, corpus)
    made.objective.eval()  # batch statistics would move the policy between both halves of a step
    batch = made.batch(stream(0, "fixed"), 8)
    data, objective = trajectories_of(batch), made.objective
    optimizer = torch.optim.SGD(objective.parameters(), lr=0.02)
    values = []
    for _ in range(20):
        log_pi = pair_log_pi(next_action(objective.policy), data, objective.horizon)
        following, _ = best_segmentation(log_pi, data.offsets, objective.segmentation.penalty)
        values.append(
            mean_objective(log_pi, following, data.offsets, objective.segmentation.penalty)
        )
        loss, _ = objective(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (np.diff(values) > -1e-6).all()
    assert values[-1] > values[0] + 0.1


def test_segments_cover_each_trajectory_within_the_horizon(
    config: TrainingConfig, corpus: Corpus
) -> None:
    made = stage(config, corpus)
    data = trajectories_of(made.batch(stream(0, "x"), 4))
    ends = made.objective.segment(data)
    distance = ends - np.arange(len(ends))
    last = np.zeros(len(ends), dtype=bool)
    last[data.offsets[1:] - 1] = True
    assert (distance[~last] >= 1).all()
    assert (distance <= 3).all()
    assert (distance[last] == 0).all()


def test_it_precedes_everything_that_needs_subgoals(config: TrainingConfig) -> None:
    chosen = override(config, ["segmentation.method=alternating"])
    every = {name: parts.get(name) for name in chosen.parts}
    names = [spec.name for spec in ordered_stages(every, chosen)]
    place = names.index("reach_policy.alternation")
    assert names.index("reach_policy.imitation") < place < names.index("subgoals.continuous")


def test_other_segmentations_do_without_it(config: TrainingConfig) -> None:
    every = {name: parts.get(name) for name in config.parts}
    names = [spec.name for spec in ordered_stages(every, config)]
    assert "reach_policy.alternation" not in names

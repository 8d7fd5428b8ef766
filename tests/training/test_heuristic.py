from __future__ import annotations

import numpy as np
import pytest
import torch

from hips.demonstrations.labels import DEAD_END, StateLabels
from hips.seeding import stream
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from hips.training.heuristic import HeuristicStage
from hips.training.networks import build_networks


def stage(config: TrainingConfig, corpus: Corpus, labels: StateLabels | None) -> HeuristicStage:
    networks = build_networks(corpus.domain.spec, config)
    return HeuristicStage(
        config.heuristic, networks.heuristic, networks.prior, corpus, corpus, labels
    )


def test_half_of_a_batch_is_labelled(config: TrainingConfig, corpus: Corpus) -> None:
    labels = StateLabels(corpus.states[:1], np.array([DEAD_END], dtype=np.int32), {})
    batch = stage(config, corpus, labels).batch(stream(0, "x"), 64)
    far = float(config.heuristic.max_distance)
    assert batch["states"].shape[0] == 64
    assert (batch["remaining"] == far).sum() == 32
    assert (batch["remaining"] >= 0).all()


def test_without_labels_only_demonstrations_are_drawn(
    config: TrainingConfig, corpus: Corpus
) -> None:
    batch = stage(config, corpus, None).batch(stream(0, "x"), 64)
    assert batch["remaining"].max() <= corpus.remaining.max()


def test_the_trunk_starts_from_the_priors(config: TrainingConfig, corpus: Corpus) -> None:
    made = stage(config, corpus, None)
    made.prepare()
    for name, value in made.prior.trunk.state_dict().items():
        assert torch.equal(value, made.heuristic.trunk.state_dict()[name]), name


def test_a_trunk_of_its_own_size_starts_at_random(config: TrainingConfig, corpus: Corpus) -> None:
    larger = override(config, ["network.heuristic_channels=24", "network.heuristic_blocks=3"])
    made = stage(larger, corpus, None)
    before = {name: value.clone() for name, value in made.heuristic.state_dict().items()}
    made.prepare()
    assert made.heuristic.trunk.stem.out_channels == 24
    assert made.prior.trunk.stem.out_channels == config.network.channels
    for name, value in made.heuristic.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_a_deeper_trunk_begins_as_the_priors(config: TrainingConfig, corpus: Corpus) -> None:
    plain = override(config, ["network.attention=0", "network.heuristic_blocks=4"])
    made = stage(plain, corpus, None)
    made.prepare()
    made.objective.eval()
    made.prior.eval()
    planes = made.prior.planes(torch.from_numpy(corpus.states[:8]))
    assert len(made.heuristic.trunk.blocks) > len(made.prior.trunk.blocks)
    assert torch.equal(made.heuristic.trunk(planes), made.prior.trunk(planes))


def test_labelled_states_are_held_out_and_scored(config: TrainingConfig, corpus: Corpus) -> None:
    count = len(corpus.states)
    labels = StateLabels(corpus.states, np.full(count, DEAD_END, dtype=np.int32), {})
    made = stage(config, corpus, labels)
    assert made.labels is not None
    assert made.held_out is not None
    assert len(made.labels) + len(made.held_out) == count
    learnt = {state.tobytes() for state in made.labels.states}
    assert not any(state.tobytes() in learnt for state in made.held_out.states)
    with torch.no_grad():
        scores, plain = made.validate(), stage(config, corpus, None).validate()
    assert "labelled" not in plain
    assert scores["score"] == pytest.approx((plain["score"] + scores["labelled"]) / 2)

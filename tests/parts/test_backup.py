"""Backed-up targets: against a naive reference, made once, and by the stage before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hips.parts.heuristic import backup
from hips.parts.heuristic.train import stages
from hips.training.config import TrainingConfig, override
from hips.training.corpus import Corpus
from tests.models.untrained import untrained, workshop

LENGTHS = st.lists(st.lists(st.floats(0.0, 50.0), min_size=1, max_size=12), min_size=1, max_size=4)


@given(LENGTHS)
def test_targets_are_the_least_over_all_later_states(trajectories: list[list[float]]) -> None:
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in trajectories])])
    found = backup.back_up(np.concatenate(trajectories), offsets)
    expected = []
    for one in trajectories:
        ends = [*one[:-1], 0.0]
        expected += [
            min(later - now + ends[later] for later in range(now, len(ends)))
            for now in range(len(ends))
        ]
    assert_allclose(found, expected)


def test_the_stage_is_left_out_without_steps(config: TrainingConfig) -> None:
    assert [one.name for one in stages(config)] == ["heuristic.training"]
    wanted = override(config, ["heuristic.backup.steps=3"])
    first, second = stages(wanted)
    assert (first.name, second.name) == ("heuristic.training", "heuristic.backup")
    assert "heuristic.training" in second.needs


def test_targets_come_from_the_weights_before_the_stage_and_are_made_once(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    wanted = override(config, ["heuristic.backup.steps=3"])
    domain = corpus.domain
    networks = untrained(domain, wanted)
    work = workshop(domain, wanted, networks, tmp_path, corpus)
    made = backup.build(work)
    estimates = work.runtime("heuristic").rowwise("heuristic", states=corpus.states)[0]
    expected = backup.back_up(estimates.astype(np.float64), corpus.offsets)
    assert_array_equal(made.train.remaining, np.rint(expected).astype(np.int32))
    assert (made.train.remaining <= corpus.remaining).all()
    assert made.schedule.steps == 3

    with torch.no_grad():
        for parameter in networks["heuristic"].parameters():
            parameter.add_(0.1)
    again = backup.build(workshop(domain, wanted, networks, tmp_path, corpus))
    assert_array_equal(again.train.remaining, made.train.remaining)


def test_the_stage_goes_on_with_the_weights_it_finds(
    config: TrainingConfig, corpus: Corpus, tmp_path: Path
) -> None:
    networks = untrained(corpus.domain, config)
    made = backup.build(workshop(corpus.domain, config, networks, tmp_path, corpus))
    before = {name: value.clone() for name, value in made.heuristic.state_dict().items()}
    made.prepare()
    for name, value in made.heuristic.state_dict().items():
        assert torch.equal(value, before[name]), name

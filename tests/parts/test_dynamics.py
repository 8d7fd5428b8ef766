"""Which transitions the dynamics learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tests.toys  # noqa: F401  (registers line_world)
from hips import data, domains
from hips.parts.dynamics.train import transitions
from hips.seeding import stream
from hips.training.corpus import Corpus

LINE = domains.create("line_world")


def test_half_of_a_batch_is_demonstrated_and_all_of_it_true(tmp_path: Path) -> None:
    demos = data.collect(LINE, count=20, seed=0, out=tmp_path)
    corpus = Corpus.build(demos.trajectories("train"), LINE)
    batch = transitions(corpus, stream(0, "dynamics"), 65)
    states, actions = batch["states"].numpy(), batch["actions"].numpy()
    assert states.shape == (65, *LINE.spec.shape)
    np.testing.assert_array_equal(batch["next_states"].numpy(), LINE.step(states, actions))
    # The expert of this world only ever goes right; random actions go both ways.
    assert set(actions[:32]) == set(corpus.actions[corpus.decisions])
    assert len(set(actions[:32])) == 1
    assert set(actions[33:]) == {0, 1}


def test_without_wandering_every_transition_is_demonstrated(tmp_path: Path) -> None:
    demos = data.collect(LINE, count=20, seed=0, out=tmp_path)
    corpus = Corpus.build(demos.trajectories("train"), LINE)
    batch = transitions(corpus, stream(0, "dynamics"), 256, wandering=0.0)
    states, actions = batch["states"].numpy(), batch["actions"].numpy()
    assert set(actions) == set(corpus.actions[corpus.decisions])
    np.testing.assert_array_equal(batch["next_states"].numpy(), LINE.step(states, actions))

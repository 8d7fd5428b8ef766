from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hips import domains
from hips.seeding import stream
from hips.training.corpus import Augmenter, Corpus, select_trajectories


def test_windows_end_at_the_subgoal(corpus: Corpus) -> None:
    starts = corpus.offsets[:-1]
    ends = np.minimum(starts + 3, corpus.last[starts])
    window = corpus.action_windows(starts, ends, 5)
    assert ((window >= 0).sum(axis=1) == ends - starts).all()
    assert (window[:, 0] == corpus.actions[starts]).all()


def test_random_ends_stay_in_the_trajectory_and_the_horizon(corpus: Corpus) -> None:
    rng = stream(0, "test")
    starts = rng.choice(corpus.decisions, size=1000)
    ends = corpus.random_ends(rng, starts, 4)
    assert (ends > starts).all()
    assert (ends <= corpus.last[starts]).all()
    assert (ends - starts <= 4).all()
    assert (ends - starts == 4).any()


@pytest.mark.parametrize("name", domains.names())
def test_augmented_steps_are_steps(name: str) -> None:
    domain = domains.create(name)
    rng = stream(1, "test", name)
    states = domain.sample(rng, 64)
    actions = rng.integers(domain.spec.num_actions, size=64)
    following = domain.step(states, actions)
    (moved, reached), renamed = Augmenter(domain)(rng, [states, following], actions)
    assert renamed is not None
    assert (domain.step(moved, renamed) == reached).all()


def test_demonstrations_can_stay_as_they_are(corpus: Corpus) -> None:
    assert corpus.domain.symmetries()
    grids, actions = [corpus.states[:20]], corpus.actions[:20]
    turned, _ = Augmenter.of(corpus)(stream(0, "t"), grids, actions)
    assert (turned[0] != grids[0]).any()
    plain = select_trajectories(replace(corpus, symmetric=False), np.arange(1))
    same, kept = Augmenter.of(plain)(stream(0, "t"), grids, actions)
    assert (same[0] == grids[0]).all()
    assert kept is actions


def test_augmenting_keeps_the_filler(corpus: Corpus) -> None:
    actions = np.full((len(corpus.states[:20]), 3), -1)
    _, renamed = Augmenter(corpus.domain)(stream(0, "t"), [corpus.states[:20]], actions)
    assert renamed is not None
    assert (renamed == -1).all()

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hips import domains
from hips.domains.box_world.kernels import AGENT
from hips.seeding import stream
from hips.training.corpus import Augmenter, Corpus, chosen_symmetries, select_trajectories


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
    (moved, reached), renamed = Augmenter(domain, domain.symmetries())(
        rng, [states, following], actions
    )
    assert renamed is not None
    assert (domain.step(moved, renamed) == reached).all()


def test_demonstrations_can_stay_as_they_are(corpus: Corpus) -> None:
    assert corpus.domain.symmetries()
    grids, actions = [corpus.states[:20]], corpus.actions[:20]
    turned, _ = Augmenter.of(corpus)(stream(0, "t"), grids, actions)
    assert (turned[0] != grids[0]).any()
    plain = select_trajectories(replace(corpus, symmetries=()), np.arange(1))
    same, kept = Augmenter.of(plain)(stream(0, "t"), grids, actions)
    assert (same[0] == grids[0]).all()
    assert kept is actions


def test_relabellings_leave_the_actions_alone() -> None:
    domain = domains.create("box_world")
    found = chosen_symmetries(domain, "relabellings")
    assert 1 < len(found) < len(domain.symmetries())
    states = domain.sample(stream(2, "test"), 16)
    actions = np.arange(16) % domain.spec.num_actions
    grids, kept = Augmenter(domain, found)(stream(0, "t"), [states], actions)
    assert kept is not None
    assert (kept == actions).all()
    assert (grids[0] != states).any(axis=(1, 2)).sum() > 8
    # Where there was an agent, there is one still: nothing moved.
    assert ((grids[0] == AGENT) == (states == AGENT)).all()
    assert chosen_symmetries(domains.create("sokoban"), "relabellings") == ()


def test_augmenting_keeps_the_filler(corpus: Corpus) -> None:
    actions = np.full((len(corpus.states[:20]), 3), -1)
    _, renamed = Augmenter(corpus.domain, corpus.symmetries)(
        stream(0, "t"), [corpus.states[:20]], actions
    )
    assert renamed is not None
    assert (renamed == -1).all()

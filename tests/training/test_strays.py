"""Random walks from demonstrated states, in dynamics with impossible moves."""

from __future__ import annotations

import numpy as np

from hips.domains import Grids
from hips.seeding import stream
from hips.training.stitching import Surveyor
from hips.training.strays import stray_ends, walk
from tests.toys import LineWorld


def surveyor(lying: bool = False) -> Surveyor:
    domain = LineWorld()

    def step(states: Grids, actions: np.ndarray) -> Grids:
        if lying:  # as learned dynamics do where no demonstrator went
            return np.full_like(states, 7)
        return domain.step(states, actions)

    return Surveyor(step, domain.is_goal, domain.is_legal, domain.spec.num_actions)


def places(states: Grids) -> np.ndarray:
    return states.reshape(len(states), -1).argmax(axis=1)


def test_walks_are_of_all_lengths_up_to_the_longest() -> None:
    domain = LineWorld()
    start = domain.sample(stream(1, "start"), 1)
    starts = np.repeat(start, 2_000, axis=0)
    ends = walk(surveyor(), starts, stream(0, "walk"), 5)
    assert domain.is_legal(ends, starts).all()
    moved = np.abs(places(ends) - places(starts))
    assert moved.min() == 0
    assert 2 < moved.max() <= 5
    assert (places(starts) == places(start)).all()  # the input is left alone


def test_impossible_moves_lead_nowhere() -> None:
    starts = LineWorld().sample(stream(2, "start"), 8)
    ends = walk(surveyor(lying=True), starts, stream(0, "walk"), 5)
    np.testing.assert_array_equal(ends, starts)


def test_walks_that_change_most_are_kept() -> None:
    domain = LineWorld()
    starts = domain.sample(stream(3, "start"), 50)
    moved = {
        name: np.abs(places(ends) - places(origins)).mean()
        for name, (ends, origins) in {
            "all": (walk(surveyor(), starts, stream(0, "walk"), 2), starts),
            "kept": (
                stray_ends(surveyor(), starts[:1], stream(0, "walk"), 50, 2),
                np.repeat(starts[:1], 50, axis=0),
            ),
        }.items()
    }
    assert moved["kept"] > moved["all"]

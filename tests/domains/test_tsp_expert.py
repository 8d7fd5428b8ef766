"""Tours: they visit everything, they are short, and they can be made worse."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips.domains import Grid, replay
from hips.domains.tsp import TravellingSalesman
from hips.domains.tsp.tours import improve, path_length
from hips.seeding import stream


def optimal_length(state: Grid) -> int:
    """The shortest walk from the agent through all cities to the start, by trying every order."""
    agent = tuple(np.argwhere(state >= 4)[0])
    start = tuple(np.argwhere(state % 4 == 3)[0])
    cities = [tuple(city) for city in np.argwhere(state == 1)]
    return min(
        sum(abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise((agent, *order, start)))
        for order in permutations(cities)
    )


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(3, 12),
    seed=st.integers(0, 2**32),
    quality=st.sampled_from([0.0, 0.3, 0.8, 1.0]),
    wander=st.integers(0, 40),
    data=st.data(),
)
def test_every_plan_solves_from_anywhere(
    size: int, seed: int, quality: float, wander: int, data: st.DataObject
) -> None:
    domain = TravellingSalesman(size, data.draw(st.integers(1, min(30, size**2 - 1))))
    rng = stream(seed, "tour")
    start = domain.sample(rng, 1)[0]
    state = replay(domain, start, rng.integers(4, size=wander))[-1]
    plan = domain.expert(state, rng, quality)
    assert domain.is_goal(replay(domain, state, plan)[-1:])[0]


def test_small_maps_are_solved_optimally() -> None:
    domain = TravellingSalesman(9, 6)
    rng = stream(0, "small")
    for start in domain.sample(rng, 15):
        for wander in (0, 7):
            state = replay(domain, start, rng.integers(4, size=wander))[-1]
            assert len(domain.expert(state, rng)) == optimal_length(state)


def test_the_best_quality_is_deterministic_and_stays_its_course() -> None:
    """Asked again after any number of its own steps, the expert needs no more than the rest."""
    domain = TravellingSalesman()
    for start in domain.sample(stream(2, "course"), 3):
        plan = domain.expert(start, stream(0, "a"))
        np.testing.assert_array_equal(plan, domain.expert(start, stream(1, "b")))
        states = replay(domain, start, plan)
        for done in range(0, len(plan), 10):
            rest = domain.expert(states[done], stream(0, "c"))
            assert len(rest) <= 1.03 * (len(plan) - done) + 2


def test_quality_decides_the_length() -> None:
    domain = TravellingSalesman()
    states = domain.sample(stream(3, "quality"), 20)
    rng = stream(0, "quality draws")
    means = [
        np.mean([len(domain.expert(state, rng, quality)) for state in states])
        for quality in (1.0, 0.8, 0.5, 0.0)
    ]
    assert means == sorted(means)
    assert means[0] < 145
    assert 2 * means[0] < means[-1]


def test_walks_take_the_shorter_axis_first() -> None:
    domain = TravellingSalesman(5, 1)
    state = domain.parse("A....\n.....\n...o.\n.....\n.....")
    names = domain.spec.action_names(domain.expert(state, stream(0, "walk")))
    assert names == ("down", "down", "right", "right", "right", "up", "up", "left", "left", "left")


def test_a_solved_map_needs_no_moves() -> None:
    domain = TravellingSalesman(3, 1)
    assert len(domain.expert(domain.parse("A.x\n...\n..."), stream(0, "solved"))) == 0


@settings(max_examples=40, deadline=None)
@given(count=st.integers(0, 30), seed=st.integers(0, 2**32))
def test_local_search_keeps_the_nodes_and_never_lengthens(count: int, seed: int) -> None:
    rng = stream(seed, "local")
    rows, columns = rng.integers(20, size=(2, count + 2))
    path = np.concatenate([[count + 1], rng.permutation(count), [count]])
    before = path_length(path, rows, columns)
    improved = path.copy()
    improve(improved, rows, columns)
    assert path_length(improved, rows, columns) <= before
    assert (improved[0], improved[-1]) == (count + 1, count)
    assert sorted(improved) == sorted(path)


@pytest.mark.slow
@pytest.mark.parametrize("quality", [0.0, 0.5, 1.0])
def test_the_fullest_map_is_toured(quality: float) -> None:
    domain = TravellingSalesman(40, 1599)
    state = domain.sample(stream(0, "full"), 1)[0]
    plan = domain.expert(state, stream(0, "full", "plan"), quality)
    assert domain.is_goal(replay(domain, state, plan)[-1:])[0]

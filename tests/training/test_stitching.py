"""Distances from the surroundings of demonstrations, against exhaustive search."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hips import domains
from hips.arrays import Grid, Grids
from hips.data.dataset import Trajectories, replay_plans, to_offsets
from hips.data.labels import DEAD_END
from hips.domains.base import Domain
from hips.seeding import stream
from hips.training.loops import distances_to_goals
from hips.training.stitching import Extent, Surveyor, shorten, stitch


def surveyor(domain: Domain) -> Surveyor:
    return Surveyor(domain.step, domain.is_goal, domain.is_legal, domain.spec.num_actions)


def wandering(domain: Domain, count: int, seed: int) -> Trajectories:
    """Plans that begin with detours: random steps that can be undone, then the expert's plan."""
    starts = domain.sample(stream(seed, "levels"), count)
    rng = stream(seed, "detours")
    plans = []
    for start in starts:
        state, plan = start[None], []
        for _ in range(6):
            action = np.array([rng.integers(domain.spec.num_actions)])
            following = domain.step(state, action)
            if any(
                (domain.step(following, np.array([back])) == state).all()
                for back in range(domain.spec.num_actions)
            ):
                state, plan = following, [*plan, int(action[0])]
        plans.append([*plan, *domain.expert(state[0], rng)])
    actions = np.concatenate([np.array(plan, dtype=np.uint8) for plan in plans])
    return replay_plans(domain, starts, actions, to_offsets(np.array([len(p) for p in plans])))


def true_distance(domain: Domain, state: Grid) -> int | None:
    """Breadth-first search over everything that the state can reach."""
    queue, seen = deque([(state, 0)]), {state.tobytes()}
    while queue:
        here, steps = queue.popleft()
        if domain.is_goal(here[None])[0]:
            return steps
        for action in range(domain.spec.num_actions):
            there: Grids = domain.step(here[None], np.array([action]))
            if there.tobytes() not in seen:
                seen.add(there.tobytes())
                queue.append((there[0], steps + 1))
    return None


@pytest.fixture(scope="module")
def small_sokoban() -> Domain:
    return domains.create("sokoban", height=6, width=6, boxes=1)


def test_without_a_limit_the_distances_are_true_and_dead_ends_are_dead(
    small_sokoban: Domain,
) -> None:
    data = wandering(small_sokoban, 6, 3)
    labels = stitch(data, surveyor(small_sokoban), Extent(depth=200))
    assert (labels.remaining == DEAD_END).any()
    for state, remaining in zip(labels.states, labels.remaining, strict=True):
        expected = true_distance(small_sokoban, state)
        if remaining == DEAD_END:
            assert expected is None
        else:
            assert expected is not None
            assert remaining >= expected


def test_stitched_distances_are_between_the_truth_and_the_demonstration(
    small_sokoban: Domain,
) -> None:
    data = wandering(small_sokoban, 6, 4)
    labels = stitch(data, surveyor(small_sokoban), Extent(depth=2))
    found = {s.tobytes(): r for s, r in zip(labels.states, labels.remaining, strict=True)}
    shorter = 0
    for state, remaining in zip(data.states, data.remaining, strict=True):
        stitched = found[state.tobytes()]
        truth = true_distance(small_sokoban, state)
        assert truth is not None
        assert truth <= stitched <= remaining
        shorter += stitched < remaining
    assert shorter > 10


def test_shortened_demonstrations_are_between_the_truth_and_what_was_walked(
    small_sokoban: Domain,
) -> None:
    data = wandering(small_sokoban, 40, 4)
    found = shorten(data, surveyor(small_sokoban))
    assert found.shape == data.remaining.shape
    assert (found <= data.remaining).all()
    assert (found < data.remaining).sum() > 40
    for state, steps in zip(data.states[:80], found[:80], strict=True):
        truth = true_distance(small_sokoban, state)
        assert truth is not None
        assert truth <= steps


def test_shortened_demonstrations_end_where_a_model_that_stands_still_says_nothing(
    small_sokoban: Domain,
) -> None:
    data = wandering(small_sokoban, 3, 4)
    still = replace(surveyor(small_sokoban), step=lambda states, actions: states)
    assert (shorten(data, still) == data.remaining).all()


def test_a_deeper_search_takes_dead_ends_back() -> None:
    """It never finds a way lost, and it finds ways that a shallow search missed."""
    domain = domains.create("sokoban")
    data = wandering(domain, 2, 5)
    shallow, deep = (
        {s.tobytes(): r for s, r in zip(labels.states, labels.remaining, strict=True)}
        for depth in (1, 8)
        for labels in [stitch(data, surveyor(domain), Extent(depth))]
    )
    both = shallow.keys() & deep.keys()
    assert all(deep[s] != DEAD_END for s in both if shallow[s] != DEAD_END)
    assert any(deep[s] != DEAD_END for s in both if shallow[s] == DEAD_END)


def test_a_wider_search_labels_states_off_the_demonstrated_way_with_what_the_return_costs() -> None:
    domain = domains.create("sliding_tiles", height=2, width=3)
    data = wandering(domain, 2, 5)
    beside, beyond = (
        {s.tobytes(): r for s, r in zip(labels.states, labels.remaining, strict=True)}
        for spread in (1, 3)
        for labels in [stitch(data, surveyor(domain), Extent(depth=3, spread=spread))]
    )
    assert beyond.keys() > beside.keys()
    assert all(beyond[state] <= steps for state, steps in beside.items())
    for state, steps in beyond.items():
        truth = true_distance(domain, np.frombuffer(state, np.uint8).reshape(2, 3))
        assert truth is not None
        assert truth <= steps


def test_dead_ends_are_labelled_only_if_wanted(small_sokoban: Domain) -> None:
    data = wandering(small_sokoban, 6, 3)
    with_them, without = (
        stitch(data, surveyor(small_sokoban), Extent(depth=4, dead_ends=wanted))
        for wanted in (True, False)
    )
    assert (with_them.remaining == DEAD_END).any()
    kept = without.origin["stitched"]
    assert (kept["extent"]["dead_ends"], kept["dead_ends"]) == (False, 0)
    assert (without.remaining == with_them.remaining[with_them.remaining != DEAD_END]).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 12), st.integers(0, 40), st.integers(0, 10_000))
def test_distances_are_those_of_relaxation(nodes: int, edges: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(nodes, size=(2, edges))
    goals = rng.random(nodes) < 0.2
    expected = np.where(goals, 0.0, np.inf)
    for _ in range(nodes):
        for source, target in zip(sources, targets, strict=True):
            expected[source] = min(expected[source], expected[target] + 1)
    found = distances_to_goals(sources, targets, goals)
    assert (found == np.where(np.isinf(expected), -1, expected)).all()

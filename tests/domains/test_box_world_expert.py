"""Box-World's expert: exact against exhaustive search, and wandering on request."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import replay
from hips.domains.box_world import BoxWorld
from hips.errors import ExpertError
from hips.seeding import stream
from tests.domains.reference import enumerate_states, goal_distances
from tests.domains.test_box_world import naive_step

BLOCKED = """
#########
#$B.bA.@#
#####..a#
#########
"""
SWAPPED = """
########
#@a.b..#
######.#
#....$B#
########
"""


@pytest.mark.parametrize("seed", range(4))
def test_shortest_plan_or_proof_from_every_reachable_state(seed: int) -> None:
    domain = BoxWorld(size=5, goal_length=3, distractors=1, colours=5)
    start = domain.sample(stream(seed, "exact"), 1)[0]
    states = enumerate_states(domain, start, naive_step)
    distances = goal_distances(domain, states)
    assert len(distances) < len(states), "the level should have dead ends"
    for state in states[::3]:
        if state.tobytes() in distances:
            plan = domain.expert(state, stream(0, "unused"))
            assert len(plan) == distances[state.tobytes()]
            assert domain.is_goal(replay(domain, state, plan)[-1:])[0]
        else:
            with pytest.raises(ExpertError, match="no plan exists"):
                domain.expert(state, stream(0, "unused"))


@pytest.mark.parametrize("level", [BLOCKED, SWAPPED])
def test_levels_with_walls_and_several_loose_keys(level: str) -> None:
    domain = BoxWorld(size=7)
    start = domain.parse(level)
    states = enumerate_states(domain, start, naive_step)
    plan = domain.expert(start, stream(0, "unused"))
    assert len(plan) == goal_distances(domain, states)[start.tobytes()]


def test_quality_sets_the_length() -> None:
    domain = BoxWorld()
    starts = domain.sample(stream(0, "quality"), 60)
    lengths = {}
    for quality in (0.0, 0.5, 1.0):
        plans = [domain.expert(s, stream(i, "plan"), quality) for i, s in enumerate(starts)]
        for start, plan in zip(starts, plans, strict=True):
            goals = domain.is_goal(replay(domain, start, plan))
            assert goals[-1]
            assert not goals[:-1].any()
        lengths[quality] = np.mean([len(plan) for plan in plans])
    assert 1.6 * lengths[1.0] < lengths[0.0] < 2.6 * lengths[1.0]
    assert lengths[1.0] < lengths[0.5] < lengths[0.0]


def test_the_best_plan_needs_no_randomness() -> None:
    domain = BoxWorld()
    start = domain.sample(stream(2, "best"), 1)[0]
    plans = [domain.expert(start, stream(seed, "any"), 1.0) for seed in range(3)]
    assert all(np.array_equal(plan, plans[0]) for plan in plans)


def test_solved_states_need_no_actions() -> None:
    domain = BoxWorld(size=6)
    start = domain.sample(stream(0, "x"), 0)
    assert len(start) == 0
    level = BoxWorld(size=4, goal_length=2, distractors=0)
    start = level.sample(stream(0, "x"), 1)[0]
    end = replay(level, start, level.expert(start, stream(0, "x")))[-1]
    assert len(level.expert(end, stream(0, "x"))) == 0

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import replay
from hips.planner.improve import cut_loops, improve, shorten
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.search import solve

from .expanders import low_level
from .worlds import TinyTiles

DOMAIN = TinyTiles()


def wander(seed: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """A start state and a long plan: a random walk from the goal, taken backwards."""
    rng = np.random.default_rng(seed)
    walk = rng.integers(4, size=steps)
    start = replay(DOMAIN, DOMAIN.all_states()[0], walk)[-1]
    return start, ((walk + 2) % 4)[::-1]


@pytest.mark.parametrize("seed", range(4))
def test_plans_get_shorter_and_stay_plans(seed: int) -> None:
    domain = DOMAIN
    start, _ = wander(seed, 60)
    optimal = len(domain.expert(start, np.random.default_rng(0)))
    found = solve(
        domain,
        start,
        low_level(domain),
        evaluation=lambda g, steps, log_pi, h: -steps.astype(float),
    )
    assert found.solved
    better = improve(domain, start, found, seconds=20.0)
    states = replay(domain, start, domain.spec.action_indices(better.plan))
    assert domain.is_goal(states[-1:])[0]
    assert len(better.plan) == optimal <= len(found.plan)
    assert sum(segment.steps for segment in better.segments) == len(better.plan)


def test_loops_are_cut_out_and_the_plan_ends_at_its_first_goal() -> None:
    start = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    plan = np.array([1, 3, 2, 0, 3, 1, 3])  # two loops, the goal, and away from it and back
    assert cut_loops(DOMAIN, start, plan).tolist() == [3]


def test_no_time_changes_nothing() -> None:
    start = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    result = Result(Outcome.SOLVED, ("right", "left", "left"))
    assert improve(DOMAIN, start, result, 0.0) is result
    unsolved = Result(Outcome.OUT_OF_TIME)
    assert improve(DOMAIN, start, unsolved, 1.0) is unsolved


def test_an_optimal_plan_stays() -> None:
    start = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    assert shorten(DOMAIN, start, np.array([3]), 0.5).tolist() == [3]

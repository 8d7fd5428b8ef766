"""Every setting of the search against an exhaustive reference, wired as for users."""

from __future__ import annotations

from collections import deque
from itertools import product
from typing import Any

import numpy as np
import pytest

from hips.domains import replay
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.planner.components import Components
from hips.planner.outcomes import Outcome
from hips.planner.policies import NearestStepPolicy, StateHeuristic
from hips.planner.result import Result
from hips.planner.settings import Settings

from .test_completeness import NAMES
from .worlds import ADVERSARIES, Adversary, GraphWorld, LyingModel, random_graph

SOLVED, UNSOLVABLE = Outcome.SOLVED, Outcome.UNSOLVABLE
ROOM = Budget(max_memory=1 << 24)
SETTINGS = tuple(
    product(
        ("eager", "foreseen", "late"),
        ("nodes", "time"),
        ("true", "hybrid", "learned"),
        (0.1, 0.0),
        (1, 3),
    )
)
"""Rollouts, shares, dynamics, ε (0 for the limit) and width."""


def distances(world: GraphWorld) -> dict[int, int]:
    """Steps from every vertex to a goal, where there is a way."""
    known, queue = dict.fromkeys(world.goals, 0), deque(world.goals)
    while queue:
        target = queue.popleft()
        for vertex, following in enumerate(world.edges):
            if target in following and vertex not in known:
                known[vertex] = known[target] + 1
                queue.append(vertex)
    return known


def planner(world: GraphWorld, adversary: str, seed: int, **settings: Any) -> Planner:
    """HIPS-ε with a misleading generator, a model that lies, and a heuristic made of noise."""
    own = Components(
        Adversary(world, ADVERSARIES[adversary]),
        NearestStepPolicy(world),
        heuristic=StateHeuristic(lambda state: float((7 * int(state[0, 1])) % 5), 2.0),
        dynamics=LyingModel(world, 0.3, seed),
    )
    return Planner(world, Choice(method="hips_eps", settings=Settings(**settings)), own)


def solve_all(
    seed: int, setting: tuple[str, str, str, float, int], evaluation: str, improve: float = 0.0
) -> int:
    """Solves a random graph from every vertex and checks every result; returns their number."""
    rollouts, shares, dynamics, epsilon, width = setting
    world = random_graph(seed, solvable=seed % 2 == 0)
    adversary = sorted(ADVERSARIES)[seed % len(ADVERSARIES)]
    own = planner(
        world,
        adversary,
        seed,
        rollouts=rollouts,
        shares=shares,
        dynamics=dynamics,
        epsilon=epsilon,
        width=width,
        evaluation=evaluation,
    )
    vertices = range(len(world.edges))
    results = own.solve_many([world.grid(v) for v in vertices], ROOM, improve=improve)
    away = distances(world)
    for vertex, result in zip(vertices, results, strict=True):
        check(world, vertex, result, away.get(vertex), dynamics == "learned")
        if improve and result.solved:
            assert len(result.plan) == away[vertex]
    return len(results)


def check(
    world: GraphWorld, vertex: int, result: Result, away: int | None, incomplete: bool
) -> None:
    """A plan leads to a goal, a proof is right, and a complete search ends with one of them."""
    expected = UNSOLVABLE if away is None else SOLVED
    if incomplete and not result.solved:
        assert result.outcome is Outcome.UNSOLVED_INCOMPLETE or away is None
        return
    assert result.outcome is expected, result.outcome
    if away is not None:
        assert len(result.plan) >= away
        actions = world.spec.action_indices(result.plan)
        assert world.is_goal(replay(world, world.grid(vertex), actions)[-1:])[0]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_setting_agrees_with_exhaustive_search(
    setting: tuple[str, str, str, float, int],
) -> None:
    number = SETTINGS.index(setting)
    assert solve_all(number % 12, setting, NAMES[number % len(NAMES)])


def test_improved_plans_are_shortest_whatever_the_setting() -> None:
    for number, setting in enumerate(SETTINGS[::5]):
        solve_all(2 * number, setting, "phs_hat", improve=600.0)


@pytest.mark.parametrize("rollouts", ["eager", "foreseen", "late"])
def test_shares_of_time_cost_at_most_twice_the_better_search(rollouts: str) -> None:
    """In counted prices, for the two searches that the setting really combines."""
    from hips.planner.shares import EXPANSION_PRICE

    def price(result: Result) -> int:
        used = result.statistics
        return used.network_rows + EXPANSION_PRICE * used.expansions

    for seed in range(6):
        world = random_graph(seed, size=40, solvable=seed % 3 > 0)
        own = planner(world, "plausible", seed, rollouts=rollouts, shares="time", epsilon=0.1)
        solver: Any = own.prepare(world).solver
        starts = [world.grid(vertex) for vertex in range(0, 40, 7)]
        for start in starts:
            first, second, both = (
                one.solve_many(world, [start], Budget())[0]
                for one in (solver.first, solver.second, solver)
            )
            largest = 4 * EXPANSION_PRICE + max(
                first.statistics.network_rows, second.statistics.network_rows
            ) / max(1, min(first.statistics.expansions, second.statistics.expansions))
            assert price(both) <= 2 * min(price(first), price(second)) + largest


@pytest.mark.slow
@pytest.mark.parametrize("evaluation", NAMES)
@pytest.mark.parametrize("rollouts", ["eager", "foreseen", "late"])
def test_a_hundred_thousand_small_solves(rollouts: str, evaluation: str) -> None:
    chosen = [setting for setting in SETTINGS if setting[0] == rollouts]
    wanted = 100_000 // (3 * len(NAMES)) + 1
    solved = seed = 0
    rng = np.random.default_rng(0)
    while solved < wanted:
        setting = chosen[rng.integers(len(chosen))]
        solved += solve_all(1000 + seed, setting, evaluation)
        seed += 1

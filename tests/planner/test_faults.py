"""Broken levels, components and domains are named; others are not harmed."""

from __future__ import annotations

import numpy as np
import pytest

from hips.domains import Actions, Grids
from hips.errors import ConfigError, ContractError
from hips.planner.outcomes import Outcome
from hips.planner.search import solve, solve_many

from .expanders import low_level
from .worlds import GraphWorld, TinyTiles, random_graph


def test_bad_problems_are_named_and_others_still_solved() -> None:
    domain = TinyTiles()
    good = np.array([[1, 0, 2], [3, 4, 5]], dtype=np.uint8)
    wrong_shape = np.zeros((3, 3), dtype=np.uint8)
    wrong_symbol = np.full((2, 3), 9, dtype=np.uint8)
    wrong_type = good.astype(np.int64)
    problems = [wrong_shape, good, wrong_symbol, wrong_type]
    results = solve_many(domain, problems, low_level(domain))
    assert [result.outcome for result in results] == [
        Outcome.INVALID_INPUT,
        Outcome.SOLVED,
        Outcome.INVALID_INPUT,
        Outcome.INVALID_INPUT,
    ]
    assert "(2, 3)" in results[0].message
    assert results[1].plan == ("left",)
    assert "9" in results[2].message
    assert "int64" in results[3].message


def test_bad_batch() -> None:
    domain = TinyTiles()
    with pytest.raises(ConfigError, match="batch"):
        solve_many(domain, domain.all_states()[:2], low_level(domain), batch=0)
    assert solve_many(domain, [], low_level(domain)) == []


def test_broken_plugins_are_named() -> None:
    world = random_graph(0)

    class Short:
        def distances(self, states: Grids) -> np.ndarray:
            return np.zeros(len(states) + 1)

    with pytest.raises(ContractError, match="heuristic"):
        solve(world, world.grid(0), low_level(world, heuristic=Short()))
    for key in (lambda g, steps, log_pi, h: h * np.nan, lambda g, steps, log_pi, h: h[:1]):
        with pytest.raises(ContractError, match="NaN"):
            solve(world, world.grid(0), low_level(world), evaluation=key)


def test_a_domain_that_contradicts_itself_is_found_out() -> None:
    class Fickle(GraphWorld):
        """Steps one by one lead elsewhere than steps in a batch."""

        def step(self, states: Grids, actions: Actions) -> Grids:
            return states if len(states) == 1 else super().step(states, actions)

    world = random_graph(2)
    fickle = Fickle(world.edges, world.goals)
    with pytest.raises(ContractError, match="deterministic"):
        solve(fickle, fickle.grid(0), low_level(fickle))

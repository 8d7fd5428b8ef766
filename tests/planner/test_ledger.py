"""Counts of searches, slot by slot."""

from __future__ import annotations

import json
import time

import numpy as np

from hips.planner.budget import Budget
from hips.planner.children import Children, Costs
from hips.planner.ledger import Ledger
from hips.planner.protocols import DynamicsMode
from hips.planner.result import PROFILE_EDGES, Result
from hips.planner.search import solve
from tests.toys import LineWorld

from .expanders import low_level, misleading
from .worlds import LyingModel, random_graph


def childless(environment_steps: int) -> Children:
    """The expansion of one node that has no children."""
    none = np.zeros(0, dtype=np.int64)
    counts = [[environment_steps * factor for factor in (1, 2, 3, 4, 5)] + [1, 2, 3, 4, 5]]
    return Children(
        parents=none,
        states=np.zeros((0, 1, 1), dtype=np.uint8),
        log_probabilities=np.zeros(0),
        lengths=none,
        kinds=none.astype(np.int32),
        tiers=none.astype(np.uint8),
        exact=none.astype(np.bool_),
        actions=np.zeros((0, 0), dtype=np.uint8),
        costs=Costs(np.array(counts)),
    )


def test_profile_counts_low_level_expansions_by_their_number() -> None:
    ledger = Ledger(2)
    ledger.begin(1, time.perf_counter())
    slots = np.array([1])
    for number in range(1, 7):  # 1 | 2 3 | 4 | 5 6
        low = np.array([number in (2, 3, 6)])
        ledger.add_expansions(slots, ~low, low, childless(7))
    statistics = ledger.statistics(1, 0)
    assert PROFILE_EDGES[:5] == (1, 2, 4, 5, 8)
    assert statistics.action_profile == (0, 2, 0, 1)
    assert statistics.action_expansions == statistics.subgoal_expansions == 3
    assert statistics.environment_steps == 6 * 7
    assert (statistics.dynamics_rows, statistics.dynamics_calls) == (6 * 14, 6 * 21)
    assert statistics.network_rows == 6 * 28
    assert (statistics.proposals_kept, statistics.proposals_unreached) == (6, 24)
    assert ledger.statistics(0, 0).proposals_kept == 0
    ledger.begin(1, time.perf_counter())
    assert ledger.statistics(1, 0).action_profile == ()
    assert ledger.statistics(1, 0).environment_steps == 0


def test_time_is_divided_among_those_that_take_part() -> None:
    ledger = Ledger(2)
    ledger.begin(0, time.perf_counter())
    ledger.spend(1, {"rollouts": 4.0})
    ledger.begin(1, time.perf_counter())
    ledger.spend(2, {"rollouts": 2.0, "heuristic": 1.0})
    assert ledger.seconds().tolist() == [5.5, 1.5]
    assert ledger.statistics(0, 0).phases == {"rollouts": 5.0, "heuristic": 0.5}
    assert ledger.statistics(1, 0).phases == {"rollouts": 1.0, "heuristic": 0.5}


def test_profile_of_a_search_adds_up_and_survives_json() -> None:
    world = LineWorld(length=20)
    start, budget = np.eye(1, 20, dtype=np.uint8), Budget(max_expansions=50)
    result = solve(world, start, low_level(world), evaluation="levin_ts", budget=budget)
    profile = result.statistics.action_profile
    assert sum(profile) == result.statistics.action_expansions > 5
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_counts_of_steps_and_calls() -> None:
    world = random_graph(4, solvable=False)
    result = solve(world, world.grid(0), low_level(world))
    statistics = result.statistics
    assert statistics.environment_steps == 3 * statistics.expansions
    assert statistics.network_rows == statistics.dynamics_rows == statistics.replans == 0
    assert statistics.dynamics_calls == 0
    assert statistics.action_expansions == statistics.expansions - 1
    assert statistics.peak_bytes > 0
    learned = misleading(
        world, "plausible", mode=DynamicsMode.LEARNED, dynamics=LyingModel(world, 0.0)
    )
    statistics = solve(world, world.grid(0), learned).statistics
    assert statistics.environment_steps == 0
    assert statistics.dynamics_rows > 3 * statistics.expansions
    # One batched step for the actions, and at most one for every step to the farthest subgoal.
    assert statistics.expansions < statistics.dynamics_calls < statistics.dynamics_rows

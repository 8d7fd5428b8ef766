"""The search itself: its order, its independence of the batch, its results, and golden trees."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hips.domains import Actions, Grids
from hips.errors import ConfigError
from hips.planner import kernels
from hips.planner.budget import Budget
from hips.planner.generators import RepeatAction
from hips.planner.outcomes import Outcome, exit_code
from hips.planner.protocols import DynamicsMode
from hips.planner.result import Provenance, Result
from hips.planner.search import solve, solve_many

from . import reference
from .expanders import Recording, low_level, misleading
from .worlds import GraphWorld, TinyTiles, after, random_graph

GOLDEN = Path(__file__).parent / "golden"
SEARCHED = ("phs_hat", "phs_star", "levin_ts", "depth", "astar", "gbfs")
TIMES = ("seconds", "elapsed_seconds", "phases")


def without_times(result: Result) -> dict[str, Any]:
    content = result.to_json()
    return {name: content[name] for name in content if name not in TIMES}


@pytest.mark.parametrize("evaluation", SEARCHED)
@pytest.mark.parametrize("keep_first", [False, True])
def test_the_engine_searches_like_the_reference(evaluation: str, keep_first: bool) -> None:
    for seed in range(3):
        world = random_graph(seed, size=40, solvable=seed % 2 == 0)
        for adversary in ("plausible", "same_one"):
            for epsilon in (0.3, 1e-4, 0.0):
                expander = misleading(world, adversary, epsilon)
                plan, expanded = reference.search(
                    world, world.grid(0), expander, evaluation, keep_first=keep_first
                )
                recording = Recording(expander)
                result = solve(
                    world,
                    world.grid(0),
                    recording,
                    evaluation=evaluation,
                    close_on_generation=keep_first,
                )
                assert result.statistics.expansions == len(expanded)
                assert [states.tobytes() for states in recording.states] == expanded
                names = () if plan is None else world.spec.action_names(plan)
                assert result.plan == names


@pytest.mark.parametrize("max_decrease", [None, 1.0])
def test_results_do_not_depend_on_the_batch(max_decrease: float | None) -> None:
    domain = TinyTiles()
    starts = domain.all_states()[5:400:67]
    expander = misleading(domain, "plausible", 0.01, max_decrease)
    budget = Budget(max_expansions=120)
    alone = [solve(domain, start, expander, budget=budget) for start in starts]
    assert [result.solved for result in alone].count(True) == 2
    for batch in (1, 3, 64):
        together = solve_many(domain, starts, expander, budget=budget, batch=batch)
        assert [without_times(r) for r in together] == [without_times(r) for r in alone]


def test_slots_are_used_again_and_action_lists_survive_compaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = TinyTiles()
    starts = domain.all_states()[1:700:53]
    expander = dataclasses.replace(low_level(domain), generator=RepeatAction(domain), epsilon=0.01)
    options: dict[str, Any] = {"evaluation": "levin_ts", "budget": Budget(max_expansions=200)}
    expected = solve_many(domain, starts, expander, batch=200, **options)
    assert [result.solved for result in expected].count(True) == 5
    compactions = 0

    def compact(*arguments: Any) -> None:
        nonlocal compactions
        compactions += 1
        original(*arguments)

    original = kernels.compact
    monkeypatch.setattr(kernels, "compact", compact)
    monkeypatch.setattr("hips.planner.nodes.COMPACTED", 64)
    found = solve_many(domain, starts, expander, batch=2, **options)
    assert [without_times(r) for r in found] == [without_times(r) for r in expected]
    assert any(segment.steps > 1 for result in found for segment in result.segments)
    assert compactions > 3


def test_a_solved_start_needs_no_search() -> None:
    domain = TinyTiles()
    start, nothing = domain.all_states()[0], Budget(0, 0.0, 0)
    result = solve(domain, start, low_level(domain), budget=nothing)
    assert result.outcome is Outcome.SOLVED
    assert result.plan == ()
    assert result.statistics.expansions == 0
    np.testing.assert_array_equal(result.states, start[None])


def test_a_true_state_is_not_blocked_by_the_same_state_from_the_model() -> None:
    """The model claims that action 0 jumps to vertex 3 next to the goal; only action 1 leads there.

    Were the two vertices 3 one node, the false one would be expanded, its plan rejected, and
    the true one never found.
    """
    edges = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 4))
    world = GraphWorld(edges, frozenset({4}))

    class Liar:
        def step(self, states: Grids, actions: Actions) -> Grids:
            claimed = world.step(states, actions)
            claimed[(world.vertices(states) == 0) & (actions == 0)] = world.grid(3)
            return claimed

    expander = dataclasses.replace(
        low_level(world),
        generator=RepeatAction(world, length=1),
        epsilon=1e-9,
        mode=DynamicsMode.HYBRID,
        dynamics=Liar(),
    )
    result = solve(world, world.grid(0), expander)
    assert result.plan == ("a1",) * 4
    assert result.statistics.replans >= 1


def test_a_rejected_goal_can_still_be_reached_another_way() -> None:
    """In learned mode the model's shortcut to the goal is false, its longer way is true."""
    edges = ((0, 1), (1, 2), (2, 2))
    world = GraphWorld(edges, frozenset({2}))

    class Liar:
        def step(self, states: Grids, actions: Actions) -> Grids:
            claimed = world.step(states, actions)
            claimed[(world.vertices(states) == 0) & (actions == 0)] = world.grid(2)
            return claimed

    expander = low_level(world, mode=DynamicsMode.LEARNED, dynamics=Liar())
    result = solve(world, world.grid(0), expander, evaluation="levin_ts")
    assert result.plan == ("a1", "a1")
    assert result.statistics.replans == 1


# -- results -------------------------------------------------------------------------------------


def test_results_turn_into_json_and_back() -> None:
    world = random_graph(0)
    found = solve(world, world.grid(0), misleading(world, "plausible"))
    made_by = Provenance("hips_eps", {"epsilon": 0.1}, "abc", {"threads": 2}, "a note")
    result = dataclasses.replace(found, seed=7, provenance=made_by)
    again = Result.from_json(json.loads(json.dumps(result.to_json())))
    assert again == result
    assert (again.seed, again.provenance) == (7, made_by)
    assert again.length == len(found.plan) > 0


def test_results_hold_the_states_of_their_plan_until_they_are_written() -> None:
    world = random_graph(0)
    result = solve(world, world.grid(0), low_level(world))
    assert len(result.states) == len(result.plan) + 1
    assert world.is_goal(result.states).tolist() == [False] * len(result.plan) + [True]
    with pytest.raises(ConfigError, match="does not include its level"):
        _ = Result.from_json(result.to_json()).states


def test_exit_codes() -> None:
    assert [outcome.exit_code for outcome in Outcome] == [0, 1, 1, 1, 1, 1, 2, 130]
    assert exit_code([]) == 0
    assert exit_code([Outcome.SOLVED, Outcome.UNSOLVABLE]) == 1
    assert all(outcome.value == outcome.name for outcome in Outcome)


# -- golden trees --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graph", "tiles", "hybrid"])
def test_golden_search_trees(name: str) -> None:
    """The order of expansion and the plan of three tiny worlds, stored once and for all."""
    tiles = TinyTiles()
    world = random_graph(22, size=20)
    cases = {
        "graph": (world, world.grid(0), misleading(world, "plausible", 0.1), "phs_hat"),
        "tiles": (
            tiles,
            after(tiles, tiles.all_states()[0], [1, 2, 1, 0]),
            low_level(tiles),
            "levin_ts",
        ),
        "hybrid": (world, world.grid(0), misleading(world, "away_from_goals", 0.0), "gbfs"),
    }
    domain, start, expander, evaluation = cases[name]
    stored = json.loads((GOLDEN / f"{name}.json").read_text())
    recording = Recording(expander)
    result = solve(
        domain, start, recording, evaluation=evaluation, budget=Budget(max_expansions=60)
    )
    assert np.concatenate(recording.states).tolist() == stored["expanded"]
    assert list(result.plan) == stored["plan"]
    segments = [[segment.kind, segment.label, segment.steps] for segment in result.segments]
    assert segments == stored["segments"]

"""Rollouts left for later, and several nodes of a search per round: nothing is lost or invented."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hips.arrays import Floats, Grids
from hips.errors import ConfigError
from hips.planner.budget import Budget
from hips.planner.generators import RepeatAction
from hips.planner.options import SearchOptions
from hips.planner.outcomes import Outcome
from hips.planner.protocols import DynamicsMode
from hips.planner.reaching import LateReach
from hips.planner.search import solve, solve_many
from hips.planner.staged import Staged
from hips.planner.tree import TreeRecorder

from .expanders import Recording, low_level, misleading, postponing
from .test_completeness import NAMES, assert_right
from .test_search import without_times
from .worlds import ADVERSARIES, GraphWorld, LyingModel, TinyTiles, random_graph, reachable_vertices

TRUE, HYBRID, LEARNED = DynamicsMode.TRUE, DynamicsMode.HYBRID, DynamicsMode.LEARNED


@pytest.mark.parametrize("evaluation", NAMES)
@pytest.mark.parametrize("mode", [TRUE, HYBRID])
@pytest.mark.parametrize("foresee", [False, True])
def test_every_graph_is_solved_or_proved_unsolvable(
    evaluation: str, mode: DynamicsMode, foresee: bool
) -> None:
    kinds = product(ADVERSARIES, (0.1, 0.0), (True, False), (1, 3), (None, 2.0))
    for seed, (adversary, epsilon, solvable, width, decrease) in enumerate(kinds):
        world = random_graph(seed % 7, solvable=solvable)
        expander = postponing(
            world,
            adversary,
            epsilon,
            foresee,
            max_decrease=decrease,
            mode=mode,
            dynamics=LyingModel(world, 0.3),
        )
        result = solve(
            world,
            world.grid(0),
            expander,
            evaluation=evaluation,
            width=width,
            close_on_generation=seed % 3 == 0,
        )
        assert_right(world, world.grid(0), result, solvable)


def test_the_first_state_of_a_proof_is_its_last() -> None:
    """A proof expands every reachable state once, whatever waits in the queue."""
    for seed, width, foresee in product(range(3), (1, 3), (False, True)):
        world = random_graph(seed, size=30, solvable=False)
        for adversary in ADVERSARIES:
            expander = postponing(world, adversary, foresee=foresee)
            result = solve(world, world.grid(0), expander, width=width)
            assert result.outcome is Outcome.UNSOLVABLE
            assert result.statistics.expansions == len(reachable_vertices(world))


def test_tiny_tiles_of_both_parities() -> None:
    domain = TinyTiles()
    starts = domain.all_states()[::149]
    for width, foresee in product((1, 3), (False, True)):
        expander = postponing(domain, "plausible", 0.0, foresee)
        results = solve_many(domain, starts, expander, width=width)
        for start, result in zip(starts, results, strict=True):
            assert_right(domain, start, result, domain.solvable(start))


def test_learned_dynamics_never_report_a_wrong_plan_nor_a_proof() -> None:
    outcomes = set()
    for seed, foresee in product(range(12), (False, True)):
        world = random_graph(seed, solvable=seed % 2 == 0)
        model = LyingModel(world, 0.4, seed)
        expander = postponing(world, "plausible", foresee=foresee, mode=LEARNED, dynamics=model)
        result = solve(world, world.grid(0), expander)
        outcomes.add(result.outcome)
        if result.solved:
            assert_right(world, world.grid(0), result, True)
    assert outcomes == {Outcome.SOLVED, Outcome.UNSOLVED_INCOMPLETE}


def test_a_pending_state_does_not_hide_the_same_state_reached_by_steps() -> None:
    """Every node proposes vertex 4 next to the goal, which the policy never reaches."""
    edges = ((1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (5, 5))
    world = GraphWorld(edges, frozenset({5}))
    target = world.grid(4)
    expander = postponing(world, "nothing")
    adversary = expander.generator
    assert adversary is not None
    object.__setattr__(adversary, "targets", lambda domain, state: [target.copy()])
    stuck = replace(expander.reacher, limits=replace(expander.reacher.limits, horizon=1))
    result = solve(world, world.grid(0), replace(expander, reacher=stuck))
    assert result.plan == ("a0",) * 5
    assert result.statistics.late_rollouts >= result.statistics.late_unreached > 0
    assert result.statistics.proposals_pending > 0


@pytest.mark.parametrize("foresee", [False, True])
def test_results_do_not_depend_on_the_batch(foresee: bool) -> None:
    domain = TinyTiles()
    starts = domain.all_states()[5:400:67]
    expander = postponing(domain, "plausible", 0.01, foresee, max_decrease=1.0)
    for width in (1, 4):
        options = {"budget": Budget(max_expansions=120), "width": width}
        alone = [solve(domain, start, expander, **options) for start in starts]
        assert any(result.solved for result in alone)
        assert any(result.statistics.late_unreached for result in alone)
        for batch in (2, 64):
            together = solve_many(domain, starts, expander, batch=batch, **options)
            assert [without_times(r) for r in together] == [without_times(r) for r in alone]


def test_children_without_an_edge_survive_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pending child of a known state is closed at once: it never gets actions to keep."""
    domain = TinyTiles()
    starts = domain.all_states()[5:400:23]
    expander = postponing(domain, "plausible", 0.01)
    budget = Budget(max_expansions=150)
    expected = solve_many(domain, starts, expander, batch=64, budget=budget)
    monkeypatch.setattr("hips.planner.nodes.COMPACTED", 64)
    found = solve_many(domain, starts, expander, batch=3, budget=budget)
    assert [without_times(r) for r in found] == [without_times(r) for r in expected]


@pytest.mark.parametrize("mode", [TRUE, HYBRID])
def test_a_state_is_estimated_once(mode: DynamicsMode) -> None:
    """Whether it was reached, predicted, or left for later, and by how many edges."""
    world = random_graph(4, size=40, solvable=False)
    asked: list[bytes] = []

    class Asked:
        def distances(self, states: Grids) -> Floats:
            asked.extend(state.tobytes() for state in states)
            return np.ones(len(states))

    options = {"mode": mode, "dynamics": LyingModel(world, 0.2), "heuristic": Asked()}
    for expander in (
        misleading(world, "plausible", **options),
        postponing(world, "plausible", **options),
    ):
        asked.clear()
        assert solve(world, world.grid(0), expander).outcome is Outcome.UNSOLVABLE
        assert len(asked) > 20
        assert len(set(asked)) == len(asked)


def test_late_rollouts_cost_less_than_those_at_once() -> None:
    domain = TinyTiles()
    starts = domain.all_states()[5:400:67]
    budget = Budget(max_expansions=60)
    late = solve_many(domain, starts, postponing(domain, "plausible"), budget=budget)
    eager = solve_many(domain, starts, misleading(domain, "plausible"), budget=budget)
    assert sum(r.statistics.environment_steps for r in late) < sum(
        r.statistics.environment_steps for r in eager
    )
    for result in late:
        statistics = result.statistics
        assert statistics.late_rollouts <= statistics.proposals_pending


def test_trees_show_what_is_pending_and_correct_it_when_it_is_rolled_out() -> None:
    world = random_graph(5, size=40, solvable=False)
    recorder = TreeRecorder(world)
    result = solve_many(world, [world.grid(0)], postponing(world, "plausible"), recorder)[0]
    nodes = recorder.trees[0].nodes
    order = sorted(node.expanded for node in nodes.values() if node.expanded is not None)
    assert order == list(range(1, result.statistics.expansions + 1))
    subgoals = [node for node in nodes.values() if node.kind == "subgoal"]
    assert any(node.pending for node in subgoals)
    assert any(node.expanded for node in subgoals)
    for node in nodes.values():
        assert not (node.pending and node.expanded)
        if node.parent is not None and node.expanded is not None:
            parent = nodes[node.parent]
            assert parent.expanded is not None
            assert parent.expanded < node.expanded
            assert node.steps == parent.steps + node.length


def test_a_stage_cannot_leave_rollouts_for_later() -> None:
    world = random_graph(0)
    with pytest.raises(ConfigError, match="left for later"):
        Staged((postponing(world, "plausible", 0.1),))


# -- width ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 5])
def test_a_round_expands_the_best_nodes_of_a_search(width: int) -> None:
    world = random_graph(3, size=40, solvable=False)
    recording = Recording(misleading(world, "plausible", 0.0))
    result = solve(world, world.grid(0), recording, width=width)
    sizes = [len(states) for states in recording.states]
    assert sum(sizes) == result.statistics.expansions == len(reachable_vertices(world))
    assert sizes[0] == 1
    assert max(sizes) == width


def test_limits_on_expansions_are_exact_for_every_width() -> None:
    domain = TinyTiles()
    start = domain.all_states()[100]
    for width, limit in product((1, 3, 8), (1, 7, 50)):
        result = solve(
            domain, start, low_level(domain), width=width, budget=Budget(max_expansions=limit)
        )
        assert result.outcome is Outcome.OUT_OF_EXPANSIONS
        assert result.statistics.expansions == limit
        assert sum(result.statistics.action_profile) == limit - 1


def test_a_round_without_nodes_is_refused() -> None:
    with pytest.raises(ConfigError, match="width of 0"):
        SearchOptions(width=0)


def test_action_lists_are_executed_at_once() -> None:
    world = random_graph(1)
    plain = replace(low_level(world), generator=RepeatAction(world), epsilon=0.1)
    limits = postponing(world, "nothing").reacher.limits
    late = replace(plain, reacher=LateReach(plain.reach_policy, limits, True, 3))
    results = [solve(world, world.grid(0), one, evaluation="levin_ts") for one in (plain, late)]
    assert results[0].plan == results[1].plan
    assert results[1].statistics.proposals_pending == 0


@pytest.mark.slow
@pytest.mark.parametrize("foresee", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_all_tiny_tiles(foresee: bool, width: int) -> None:
    """720 puzzles, half of them unsolvable, with every evaluation and several ε."""
    domain = TinyTiles()
    starts = domain.all_states()
    for evaluation, epsilon in product(NAMES, (0.1, 1e-3, 0.0)):
        expander = postponing(domain, "plausible", epsilon, foresee)
        results = solve_many(domain, starts, expander, evaluation=evaluation, width=width)
        for start, result in zip(starts, results, strict=True):
            assert_right(domain, start, result, domain.solvable(start))

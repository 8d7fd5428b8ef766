"""The theorem, tested: every solvable instance is solved, every other is proved unsolvable."""

from __future__ import annotations

from itertools import product

import pytest

from hips.domains import Domain, Grid, replay
from hips.planner.evaluations import EVALUATIONS
from hips.planner.outcomes import Outcome
from hips.planner.protocols import DynamicsMode
from hips.planner.result import Result
from hips.planner.search import solve, solve_many

from .expanders import low_level, misleading
from .worlds import (
    ADVERSARIES,
    LyingModel,
    TinyTiles,
    nothing,
    random_graph,
    reachable_vertices,
)

EPSILONS = (1.0, 1e-1, 1e-3, 1e-5, 0.0)
NAMES = tuple(name for name in EVALUATIONS if "example" not in name)


def assert_right(domain: Domain, start: Grid, result: Result, solvable: bool) -> None:
    assert result.outcome is (Outcome.SOLVED if solvable else Outcome.UNSOLVABLE)
    if solvable:
        states = replay(domain, start, domain.spec.action_indices(result.plan))
        assert domain.is_goal(states[-1:])[0]
        assert sum(segment.steps for segment in result.segments) == len(result.plan)


@pytest.mark.parametrize("evaluation", NAMES)
@pytest.mark.parametrize("mode", [DynamicsMode.TRUE, DynamicsMode.HYBRID])
@pytest.mark.parametrize("max_decrease", [0.0, 3.0])
def test_guessed_distances_lose_nothing(
    evaluation: str, mode: DynamicsMode, max_decrease: float
) -> None:
    """The noise falls by more than it says, so that many guesses are wrong, either way."""
    for seed, adversary, epsilon in product(range(2), ("plausible", "same_one"), (0.1, 0.0)):
        for solvable, keep_first in product((True, False), repeat=2):
            world = random_graph(seed, solvable=solvable)
            model = LyingModel(world, 0.3)
            expander = misleading(
                world, adversary, epsilon, max_decrease, mode=mode, dynamics=model
            )
            result = solve(
                world,
                world.grid(0),
                expander,
                evaluation=evaluation,
                close_on_generation=keep_first,
            )
            assert_right(world, world.grid(0), result, solvable)


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("evaluation", NAMES)
def test_every_graph_is_solved_or_proved_unsolvable(adversary: str, evaluation: str) -> None:
    for seed in range(2):
        for solvable in (True, False):
            world = random_graph(seed, solvable=solvable)
            for epsilon in EPSILONS:
                expander = misleading(world, adversary, epsilon)
                result = solve(world, world.grid(0), expander, evaluation=evaluation)
                assert_right(world, world.grid(0), result, solvable)


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_close_on_generation_is_complete_as_well(adversary: str) -> None:
    for seed in range(4):
        for solvable in (True, False):
            world = random_graph(seed, solvable=solvable)
            expander = misleading(world, adversary)
            result = solve(world, world.grid(0), expander, close_on_generation=True)
            assert_right(world, world.grid(0), result, solvable)


def test_unsolvable_graphs_are_searched_to_the_last_state() -> None:
    for seed in range(3):
        world = random_graph(seed, solvable=False)
        for adversary in ADVERSARIES:
            result = solve(world, world.grid(0), misleading(world, adversary))
            assert result.statistics.expansions == len(reachable_vertices(world))


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.1, 1e-5, 0.0])
def test_hybrid_dynamics_are_complete_whatever_the_model_says(rate: float, epsilon: float) -> None:
    for seed in range(3):
        for solvable in (True, False):
            world = random_graph(seed, solvable=solvable)
            for adversary in ("plausible", "same_one"):
                for evaluation in ("phs_hat", "gbfs"):
                    model = LyingModel(world, rate, seed)
                    expander = misleading(
                        world, adversary, epsilon, mode=DynamicsMode.HYBRID, dynamics=model
                    )
                    result = solve(world, world.grid(0), expander, evaluation=evaluation)
                    assert_right(world, world.grid(0), result, solvable)


def test_learned_dynamics_never_report_a_wrong_plan_nor_a_proof() -> None:
    outcomes = set()
    replans = 0
    for seed in range(16):
        world = random_graph(seed, solvable=seed % 2 == 0)
        model = LyingModel(world, 0.4, seed)
        expander = misleading(world, "plausible", mode=DynamicsMode.LEARNED, dynamics=model)
        result = solve(world, world.grid(0), expander)
        outcomes.add(result.outcome)
        replans += result.statistics.replans
        if result.solved:
            assert_right(world, world.grid(0), result, True)
        if seed % 2:
            assert not result.solved
        assert result.statistics.dynamics_rows > 0
    assert outcomes == {Outcome.SOLVED, Outcome.UNSOLVED_INCOMPLETE}
    assert replans > 0


def test_plain_subgoal_search_fails_where_its_generator_fails_and_claims_nothing() -> None:
    for seed in range(5):
        world = random_graph(seed)
        for adversary in ("nothing", "rubbish", "self_loops"):
            result = solve(world, world.grid(0), misleading(world, adversary, action_policy=None))
            assert result.outcome is Outcome.UNSOLVED_INCOMPLETE
            assert not result.plan


@pytest.mark.parametrize("epsilon", [0.1, 0.0])
def test_tiny_tiles_of_both_parities(epsilon: float) -> None:
    domain = TinyTiles()
    starts = domain.all_states()[::149]
    results = solve_many(domain, starts, misleading(domain, "same_one", epsilon))
    for start, result in zip(starts, results, strict=True):
        assert_right(domain, start, result, domain.solvable(start))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_all_tiny_tiles(epsilon: float) -> None:
    domain = TinyTiles()
    starts = domain.all_states()
    results = solve_many(domain, starts, misleading(domain, "plausible", epsilon))
    for start, result in zip(starts, results, strict=True):
        assert_right(domain, start, result, domain.solvable(start))


@pytest.mark.slow
@pytest.mark.parametrize("evaluation", NAMES)
@pytest.mark.parametrize("mode", [DynamicsMode.TRUE, DynamicsMode.HYBRID])
def test_many_graphs_all_combinations(evaluation: str, mode: DynamicsMode) -> None:
    for seed in range(12):
        for solvable in (True, False):
            world = random_graph(100 + seed, size=8 + 3 * seed, solvable=solvable)
            for adversary in ADVERSARIES:
                for epsilon in EPSILONS:
                    model = LyingModel(world, 0.2 * (seed % 6), seed)
                    expander = misleading(world, adversary, epsilon, mode=mode, dynamics=model)
                    result = solve(world, world.grid(0), expander, evaluation=evaluation)
                    assert_right(world, world.grid(0), result, solvable)


def test_the_adversary_that_proposes_nothing_costs_nothing() -> None:
    world = random_graph(3)
    expanders = (misleading(world, "nothing"), low_level(world))
    hybrid, alone = (solve(world, world.grid(0), e, evaluation="levin_ts") for e in expanders)
    assert hybrid.plan == alone.plan
    assert hybrid.statistics.expansions == alone.statistics.expansions
    assert nothing(world, world.grid(0)) == []

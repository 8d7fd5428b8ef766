"""Two searches of a level that share its time: the bound, the limits, and nothing lost."""

from __future__ import annotations

from itertools import product

import pytest

from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver, StopSearch
from hips.planner.shares import EXPANSION_PRICE, SharedSolver
from hips.planner.solvers import SearchSolver

from .expanders import low_level, misleading, postponing
from .test_completeness import assert_right
from .test_search import without_times
from .worlds import ADVERSARIES, TinyTiles, random_graph

NO_LIMITS = Budget()


def shared(first: SearchSolver, second: SearchSolver, head_start: int = 0) -> SharedSolver:
    return SharedSolver(first, second, head_start)


def price(result: Result) -> int:
    statistics = result.statistics
    return statistics.network_rows + EXPANSION_PRICE * statistics.expansions


def test_every_graph_is_solved_or_proved_unsolvable() -> None:
    for adversary, foresee, solvable, width in product(
        ADVERSARIES, (False, True), (True, False), (1, 3)
    ):
        world = random_graph(len(adversary), solvable=solvable)
        first = SearchSolver(postponing(world, adversary, 0.1, foresee), width=width)
        second = SearchSolver(low_level(world), "levin_ts")
        (result,) = shared(first, second).solve_many(world, [world.grid(0)], NO_LIMITS)
        assert_right(world, world.grid(0), result, solvable)


def test_the_price_is_at_most_twice_that_of_the_better_search() -> None:
    domain = TinyTiles()
    starts = [s for s in domain.all_states()[5:700:29] if domain.solvable(s)]
    first = SearchSolver(misleading(domain, "plausible"))
    second = SearchSolver(low_level(domain), "levin_ts")
    winners = set()
    for start in starts:
        results = [
            one.solve_many(domain, [start], NO_LIMITS)[0]
            for one in (first, second, shared(first, second))
        ]
        prices = [price(result) for result in results]
        assert prices[2] <= 2 * min(prices[:2]) + EXPANSION_PRICE
        assert results[2].plan in (results[0].plan, results[1].plan)
        winners.add(prices[0] < prices[1])
    assert winners == {True, False}


def test_a_head_start_costs_no_more_than_itself_and_saves_the_other_search() -> None:
    domain = TinyTiles()
    starts = [s for s in domain.all_states()[5:700:29] if domain.solvable(s)]
    first = SearchSolver(misleading(domain, "plausible"))
    second = SearchSolver(low_level(domain), "levin_ts")
    head_start, alone = 20 * EXPANSION_PRICE, set()
    for start in starts:
        prices = [
            price(one.solve_many(domain, [start], NO_LIMITS)[0])
            for one in (first, second, shared(first, second, head_start))
        ]
        assert prices[2] <= 2 * min(prices[:2]) + head_start + EXPANSION_PRICE
        if prices[0] <= head_start:
            assert prices[2] == prices[0]
        alone.add(prices[0] <= head_start)
    assert alone == {True, False}


def test_limits_hold_for_both_together() -> None:
    domain = TinyTiles()
    start = domain.all_states()[100]
    for width, limit in product((1, 3), (0, 1, 7, 50)):
        solver = shared(
            SearchSolver(misleading(domain, "plausible"), width=width),
            SearchSolver(low_level(domain), "levin_ts", width=width),
        )
        (result,) = solver.solve_many(domain, [start], Budget(max_expansions=limit))
        assert result.outcome is Outcome.OUT_OF_EXPANSIONS
        assert result.statistics.expansions == limit
        (result,) = solver.solve_many(domain, [start], Budget(max_memory=4_000))
        assert result.outcome is Outcome.OUT_OF_MEMORY
        assert 2_000 < result.statistics.peak_bytes < 12_000


def test_results_are_the_same_again_and_do_not_depend_on_the_other_levels() -> None:
    domain = TinyTiles()
    starts = list(domain.all_states()[5:400:67])
    solver = shared(
        SearchSolver(misleading(domain, "plausible")), SearchSolver(low_level(domain), "levin_ts")
    )
    budget = Budget(max_expansions=200)
    together = solver.solve_many(domain, starts, budget)
    alone = [solver.solve_many(domain, [start], budget)[0] for start in starts]
    assert [without_times(r) for r in together] == [without_times(r) for r in alone]


def test_an_incomplete_search_leaves_the_rest_to_the_other() -> None:
    world = random_graph(2)
    incomplete = SearchSolver(misleading(world, "nothing", action_policy=None))
    complete = SearchSolver(low_level(world), "levin_ts")
    (result,) = shared(incomplete, complete).solve_many(world, [world.grid(0)], NO_LIMITS)
    assert_right(world, world.grid(0), result, True)
    (result,) = shared(incomplete, incomplete).solve_many(world, [world.grid(0)], NO_LIMITS)
    assert result.outcome is Outcome.UNSOLVED_INCOMPLETE


def test_a_search_without_memory_leaves_the_rest_to_the_other() -> None:
    """The memory of a search that gave up is free again."""
    domain = TinyTiles()
    start = next(s for s in domain.all_states()[300:] if domain.solvable(s))
    alone = SearchSolver(low_level(domain), "levin_ts")
    (needed,) = alone.solve_many(domain, [start], NO_LIMITS)
    limit = Budget(max_memory=needed.statistics.peak_bytes + 1)
    wasteful = SearchSolver(misleading(domain, "rubbish", heuristic=None), "levin_ts")
    for solver in (shared(wasteful, alone), shared(alone, wasteful)):
        (result,) = solver.solve_many(domain, [start], limit)
        assert_right(domain, start, result, True)


@pytest.mark.parametrize("error", [StopSearch, KeyboardInterrupt])
def test_whoever_looks_can_stop_it(error: type[BaseException]) -> None:
    domain = TinyTiles()

    def stop(index: int, result: Result) -> None:
        raise error

    solver = shared(SearchSolver(low_level(domain)), SearchSolver(low_level(domain)))
    starts = list(domain.all_states()[[1, 2, 3]])
    results = solver.solve_many(domain, starts, Budget(max_expansions=3), ResultObserver(stop))
    assert [r.outcome for r in results[1:]] == [Outcome.INTERRUPTED] * 2

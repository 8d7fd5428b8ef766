"""Solvers: searches, and programs that are called level by level."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hips.domains import Domain, Grid
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.policies import StateHeuristic, weighted
from hips.planner.result import Result
from hips.planner.rounds import ResultObserver
from hips.planner.search import solve_many
from hips.planner.solvers import ProgramSolver, SearchSolver

from .expanders import low_level, misleading
from .test_search import without_times
from .worlds import TinyTiles

TILES = TinyTiles()
STARTS = list(TILES.all_states()[5:400:67])


@pytest.mark.parametrize("close_on_generation", [False, True])
def test_a_search_solver_searches_as_it_is_told(close_on_generation: bool) -> None:
    expander = misleading(TILES, "plausible", 0.1)
    solver = SearchSolver(expander, "gbfs", close_on_generation, batch=2)
    budget = Budget(max_expansions=400)
    expected = solve_many(
        TILES,
        STARTS,
        expander,
        evaluation="gbfs",
        close_on_generation=close_on_generation,
        budget=budget,
    )
    told: list[int] = []
    observer = ResultObserver(lambda index, result: told.append(index))
    found = solver.solve_many(TILES, STARTS, budget, observer)
    assert [without_times(r) for r in found] == [without_times(r) for r in expected]
    assert sorted(told) == list(range(len(STARTS)))
    assert {result.solved for result in found} == {True, False}


def test_a_search_solver_can_be_driven() -> None:
    search = SearchSolver(low_level(TILES), "levin_ts").start(TILES, STARTS, Budget(4))
    assert sum(1 for _ in search.rounds()) == 4
    assert {result.outcome for result in search.results()} == {Outcome.OUT_OF_EXPANSIONS}


def test_plans_are_improved_by_estimates_without_the_weight_of_the_search() -> None:
    own = StateHeuristic(lambda state: 3.0)
    expander = dataclasses.replace(low_level(TILES), heuristic=weighted(own, 5.0))
    assert SearchSolver(expander).heuristic is own
    assert SearchSolver(low_level(TILES)).heuristic is None


@dataclasses.dataclass
class Program:
    """Answers at once, and remembers the budgets that it is given."""

    interrupt_at: int = 10**9
    budgets: list[Budget] = dataclasses.field(default_factory=list)

    def __call__(self, domain: Domain, start: Grid, budget: Budget) -> Result:
        if len(self.budgets) == self.interrupt_at:
            raise KeyboardInterrupt
        self.budgets.append(budget)
        return Result(Outcome.UNSOLVABLE)


def test_a_program_is_called_for_every_level() -> None:
    program = Program()
    told: dict[int, Result] = {}
    observer = ResultObserver(lambda index, result: told.__setitem__(index, result))
    results = ProgramSolver(program).solve_many(TILES, STARTS, Budget(), observer)
    assert [told[index] for index in range(len(STARTS))] == results
    assert [result.outcome for result in results] == [Outcome.UNSOLVABLE] * len(STARTS)
    for start, result in zip(STARTS, results, strict=True):
        assert result.start is not None
        np.testing.assert_array_equal(result.start, start)
        assert result.domain is TILES


def test_a_level_gets_no_more_time_than_is_left_for_all() -> None:
    program = Program()
    solver = ProgramSolver(program)
    solver.solve_many(TILES, STARTS[:2], Budget(max_seconds=7.0, max_total_seconds=1000.0))
    solver.solve_many(TILES, STARTS[:2], Budget(max_seconds=1000.0, max_total_seconds=7.0))
    solver.solve_many(TILES, STARTS[:1], Budget(max_seconds=3.0))
    limits = [budget.max_seconds for budget in program.budgets]
    assert limits[:2] == [7.0, 7.0]
    assert all(limit is not None and limit <= 7.0 for limit in limits[2:4])
    assert limits[4] == 3.0
    over = solver.solve_many(TILES, STARTS, Budget(max_total_seconds=0.0))
    assert [result.outcome for result in over] == [Outcome.OUT_OF_TIME] * len(STARTS)
    assert len(program.budgets) == 5


def test_levels_after_ctrl_c_are_interrupted() -> None:
    results = ProgramSolver(Program(interrupt_at=2)).solve_many(TILES, STARTS[:4], Budget())
    unsolvable, interrupted = Outcome.UNSOLVABLE, Outcome.INTERRUPTED
    assert [result.outcome for result in results] == [unsolvable] * 2 + [interrupted] * 2

"""The search before the first one, which no level pays for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tests.toys  # noqa: F401  (registers line_world)
from hips import domains
from hips.arrays import Grid
from hips.domains import Domain
from hips.planner import warm_up as module
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.portfolio import Member, Portfolio
from hips.planner.result import Result, Statistics
from hips.planner.rounds import Observer
from hips.planner.search import Search
from hips.planner.warm_up import warm_up

LINE = domains.create("line_world")
START, HOME = (np.eye(1, 8, place, dtype=np.uint8) for place in (0, 7))


class Counting:
    """A solver that counts its calls; levels at home need no expansion."""

    heuristic = None

    def __init__(self, outcome: Outcome = Outcome.OUT_OF_EXPANSIONS) -> None:
        self.outcome, self.calls = outcome, 0

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """One expansion per level that is not solved."""
        assert budget.max_expansions == 1
        self.calls += 1
        return [
            Result(Outcome.SOLVED)
            if domain.is_goal(level[None])[0]
            else Result(self.outcome, statistics=Statistics(expansions=1))
            for level in levels
        ]

    def start(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> Search:
        """Never called."""
        raise AssertionError


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which nothing has searched."""
    monkeypatch.setattr(module, "_warm", set())


def test_every_search_of_a_solver_runs_once_a_process() -> None:
    members = Counting(), Counting()
    portfolio = Portfolio(tuple(Member(one, 10) for one in members))
    for _ in range(3):
        assert warm_up(LINE, "portfolio", portfolio, [START, START])
    assert [one.calls for one in members] == [1, 1]
    assert warm_up(LINE, "other", members[0], [START])
    assert members[0].calls == 2


def test_levels_without_a_search_leave_it_cold() -> None:
    solver = Counting()
    assert warm_up(LINE, "one", solver, [HOME])
    assert warm_up(LINE, "one", solver, [HOME, START, START])
    assert solver.calls == 3


def test_an_interruption_is_passed_on_and_leaves_it_cold() -> None:
    solver = Counting(Outcome.INTERRUPTED)
    assert not warm_up(LINE, "one", solver, [START])
    assert not warm_up(LINE, "one", solver, [START])

"""Search by what the domain knows: alone, and in turns with HIPS-ε."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tests.toys  # noqa: F401  (registers line_world)
from hips import domains
from hips.arrays import Grid
from hips.domains.base import Domain
from hips.errors import ModelError
from hips.methods.choosing import Choice
from hips.methods.planner import Planner
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.portfolio import Member, Portfolio
from hips.planner.result import Result, Statistics
from hips.planner.rounds import Observer
from hips.planner.validate import is_plan
from hips.seeding import stream

SMALL = {
    "sokoban": {"height": 7, "width": 7, "boxes": 2},
    "sliding_tiles": {"height": 3, "width": 3},
    "box_world": {"size": 6, "goal_length": 3, "distractors": 1},
    "tsp": {"size": 6, "cities": 4},
}


@pytest.mark.parametrize("name", domains.names())
def test_every_domain_with_an_estimate_is_solved_by_it(name: str) -> None:
    domain = domains.create(name, **SMALL.get(name, {}))
    if domain.estimate(np.zeros((0, *domain.spec.shape), dtype=np.uint8)) is None:
        with pytest.raises(ModelError, match="no estimate"):
            Planner(domain, Choice(method="guided"))
        return
    planner = Planner(domain, Choice(method="guided"))
    for level in domain.sample(stream(3, "guided"), 4):
        result = planner.solve(level, Budget(max_expansions=20_000))
        assert result.solved
        assert is_plan(domain, level, domain.spec.action_indices(result.plan))
        assert sum(segment.steps for segment in result.segments) == result.length


def test_a_room_without_solution_is_proven_unsolvable() -> None:
    room = "#######\n#.  $.#\n#@ #$##\n#######"
    domain = domains.create("sokoban", height=4, width=7, boxes=2)
    result = Planner(domain, Choice(method="guided")).solve(room)
    assert result.outcome is Outcome.UNSOLVABLE


@pytest.mark.parametrize("blank_last", [False, True])
def test_wrong_parity_needs_no_expansion(blank_last: bool) -> None:
    tiles = domains.create("sliding_tiles", height=3, width=3, blank_last=blank_last)
    goal = [*range(1, 9), 0] if blank_last else [*range(9)]
    goal[3], goal[4] = goal[4], goal[3]
    result = Planner(tiles).solve(np.array(goal).reshape(3, 3))
    assert (result.outcome, result.statistics.expansions) == (Outcome.UNSOLVABLE, 0)
    assert "parity" in result.message


class Counter:
    """A solver that needs a number of expansions for every level."""

    heuristic = None

    def __init__(self, needed: int) -> None:
        self.needed, self.limits = needed, list[int]()

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Uses up the limit, or solves all levels."""
        limit = budget.max_expansions
        assert limit is not None
        self.limits.append(limit)
        outcome = Outcome.SOLVED if self.needed <= limit else Outcome.OUT_OF_EXPANSIONS
        used = Statistics(expansions=min(self.needed, limit))
        return [Result(outcome, statistics=used, start=level, domain=domain) for level in levels]


def test_members_take_growing_turns_within_the_budget() -> None:
    domain = domains.create("line_world")
    levels = list(domain.sample(stream(0, "turns"), 2))
    slow, fast = Counter(10**9), Counter(300)
    portfolio = Portfolio((Member(slow, 10), Member(fast, 100)))
    results = portfolio.solve_many(domain, levels, Budget())
    assert [result.outcome for result in results] == [Outcome.SOLVED] * 2
    assert (slow.limits, fast.limits) == ([10, 40], [100, 400])
    assert results[0].statistics.expansions == 10 + 100 + 40 + 300
    limited = portfolio.solve_many(domain, levels, Budget(max_expansions=120))
    assert [result.outcome for result in limited] == [Outcome.OUT_OF_EXPANSIONS] * 2
    assert limited[0].statistics.expansions == 120

"""Searches that are narrow at first: who expands what, and nothing lost."""

from __future__ import annotations

from itertools import product

import pytest

from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.search import solve, solve_many
from hips.planner.widening import Widening

from .expanders import Recording, low_level, misleading, postponing
from .test_completeness import assert_right
from .test_search import without_times
from .worlds import ADVERSARIES, TinyTiles, random_graph


def test_the_first_nodes_of_every_search_are_expanded_narrowly() -> None:
    domain = TinyTiles()
    starts = [s for s in domain.all_states()[5:700:97] if domain.solvable(s)]
    for batch in (1, 3):
        early, later = Recording(low_level(domain)), Recording(low_level(domain))
        results = solve_many(
            domain,
            starts,
            Widening(early, later, 10),
            evaluation="levin_ts",
            batch=batch,
            budget=Budget(max_expansions=25),
        )
        spent = [result.statistics.expansions for result in results]
        assert sum(map(len, early.states)) == sum(min(10, count) for count in spent)
        assert sum(map(len, later.states)) == sum(max(0, count - 10) for count in spent)
        assert max(spent) == 25


@pytest.mark.parametrize("adversary", sorted(ADVERSARIES))
def test_every_graph_is_solved_or_proved_unsolvable(adversary: str) -> None:
    for late, solvable, width, epsilon in product((False, True), (True, False), (1, 3), (0.1, 0.0)):
        world = random_graph(len(adversary), solvable=solvable)
        both = [
            postponing(world, one, epsilon) if late else misleading(world, one, epsilon)
            for one in ("nothing", adversary)
        ]
        expander = Widening(both[0], both[1], 5)
        assert expander.complete
        result = solve(world, world.grid(0), expander, width=width)
        assert_right(world, world.grid(0), result, solvable)


def test_results_do_not_depend_on_the_other_levels() -> None:
    domain = TinyTiles()
    starts = list(domain.all_states()[5:400:67])
    expander = Widening(misleading(domain, "nothing", 0.1), misleading(domain, "plausible", 0.1), 7)
    options = {"budget": Budget(max_expansions=60)}
    together = solve_many(domain, starts, expander, batch=4, **options)
    alone = [solve(domain, start, expander, **options) for start in starts]
    assert [without_times(r) for r in together] == [without_times(r) for r in alone]


def test_it_is_complete_only_if_both_are() -> None:
    domain = TinyTiles()
    alone = misleading(domain, "nothing", action_policy=None)
    expander = Widening(alone, low_level(domain), 1)
    assert not expander.complete
    start = next(s for s in domain.all_states()[300:] if domain.solvable(s))
    assert solve(domain, start, expander).outcome is Outcome.UNSOLVED_INCOMPLETE

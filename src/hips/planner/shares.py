"""Fair shares of time: two searches of the same level take turns by what they have cost.

An expansion with subgoals asks networks about many more rows than one with single actions, so
which search is faster differs from level to level. The search that has cost less so far goes on;
the first to end ends both. Costs are counted, not measured: a row of a network costs 1, and an
expansion `EXPANSION_PRICE`, so the same level gives the same result on every machine. With a head
start the first search goes on alone until it has cost that much more than the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.planner.budget import Budget
from hips.planner.gathering import Report, gather
from hips.planner.outcomes import Outcome
from hips.planner.protocols import Heuristic
from hips.planner.result import Result, Statistics
from hips.planner.rounds import Observer
from hips.planner.search import Search
from hips.planner.solvers import SearchSolver

_GIVEN_UP = (Outcome.UNSOLVED_INCOMPLETE, Outcome.OUT_OF_MEMORY)
"""Outcomes that leave the level to the other search; a search that ends returns its memory."""
EXPANSION_PRICE = 10
"""Rows of a network that take as long as the other work of an expansion: a call of each network,
steps and bookkeeping. A rough figure for the shipped models; the bound holds for any."""


@dataclass(frozen=True, slots=True)
class SharedSolver:
    """Two searches share the time of every level; levels are solved one at a time.

    Observers see the results only.

    Attributes:
        first: the search that begins.
        second: the other one.
        head_start: how much more than the second the first may have cost.
    """

    first: SearchSolver
    second: SearchSolver
    head_start: int = 0

    @property
    def heuristic(self) -> Heuristic | None:
        """That of the first search."""
        return self.first.heuristic

    def solve_many(
        self,
        domain: Domain,
        levels: Sequence[Grid],
        budget: Budget,
        observer: Observer | None = None,
    ) -> list[Result]:
        """Results in the order of `levels`; INTERRUPTED ones after Ctrl-C."""
        deadline = budget.deadline()

        def work(report: Report) -> None:
            for index, level in enumerate(levels):
                report(index, self._solve(domain, level, budget.until(deadline)))

        return gather(domain, levels, observer, work)

    def _solve(self, domain: Domain, level: Grid, budget: Budget) -> Result:
        searches = [one.start(domain, [level], budget) for one in (self.first, self.second)]
        going = list(searches)
        while True:
            search = self._next(going, searches[1])
            others = [one for one in searches if one is not search]
            search.budget = _left(budget, others)
            search.advance()
            ended = search.results()
            if not ended:
                continue
            going.remove(search)
            if ended[0].outcome not in _GIVEN_UP or not going:
                return replace(ended[0], statistics=_sum([_spent(one) for one in searches]))

    def _next(self, going: Sequence[Search], second: Search) -> Search:
        """The search whose turn it is."""
        return min(going, key=lambda one: _price(one) + self.head_start * (one is second))


def _price(search: Search) -> int:
    """What a search of one level has cost so far, in rows."""
    rows = int(search.ledger.count("network_rows")[0])
    return rows + EXPANSION_PRICE * int(search.ledger.expansions()[0])


def _spent(search: Search) -> Statistics:
    """What a search of one level has used so far, or had used when it ended."""
    ended = search.results()
    return ended[0].statistics if ended else search.statistics()


def _left(budget: Budget, others: Sequence[Search]) -> Budget:
    """The limits of one search, without what the others have used."""
    used = {
        "max_expansions": sum(int(one.ledger.expansions()[0]) for one in others),
        "max_seconds": sum(float(one.ledger.seconds()[0]) for one in others),
        "max_memory": sum(int(one.table.slot_bytes()[0]) for one in others),
    }
    limits = {name: getattr(budget, name) for name in used}
    return replace(
        budget, **{n: max(0, limits[n] - used[n]) for n in used if limits[n] is not None}
    )


def _sum(spent: Sequence[Statistics]) -> Statistics:
    """What several searches have used together; profiles are those of each search by itself."""
    names = [item.name for item in fields(Statistics)]
    sums = {n: sum(getattr(one, n) for one in spent) for n in names if n not in _NO_NUMBERS}
    phases = {name for one in spent for name in one.phases}
    columns = zip_longest(*(one.action_profile for one in spent), fillvalue=0)
    return Statistics(
        **sums,
        elapsed_seconds=max(one.elapsed_seconds for one in spent),
        phases={name: sum(one.phases.get(name, 0.0) for one in spent) for name in phases},
        action_profile=tuple(sum(column) for column in columns),
    )


_NO_NUMBERS = ("elapsed_seconds", "phases", "action_profile")

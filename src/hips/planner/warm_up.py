"""A short search before the first clock starts.

The first search of a process compiles or loads machine code, which may take longer than a limit
of a few seconds. No level should pay for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.planner.budget import Budget
from hips.planner.portfolio import Portfolio
from hips.planner.solvers import Solver, Steppable

ONE = Budget(max_expansions=1)

_warm: set[tuple[type[Domain], str]] = set()
"""The kinds of domains and the methods that have searched in this process."""


def warm_up(domain: Domain, method: str, solver: Solver, levels: Sequence[Grid]) -> None:
    """Expands the start of a level by every search of a solver, once a process and method.

    Programs and closed-loop policies are not called.
    """
    key = (type(domain), method)
    if key in _warm:
        return
    for level in levels:
        if any([_expanded(one, domain, level) for one in _searches(solver)]):
            _warm.add(key)
            return


def _searches(solver: Solver) -> list[Solver]:
    members = (
        [member.solver for member in solver.members] if isinstance(solver, Portfolio) else [solver]
    )
    return [one for one in members if isinstance(one, Steppable)]


def _expanded(solver: Solver, domain: Domain, level: Grid) -> bool:
    """Whether the level needed a search; others end before anything is compiled."""
    return solver.solve_many(domain, [level], ONE)[0].statistics.expansions > 0

"""A short search before the first clock starts.

The first search of a process compiles or loads machine code, which may take longer than a limit
of a few seconds. No level should pay for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from hips.arrays import Grid
from hips.domains.base import Domain
from hips.planner.budget import Budget
from hips.planner.outcomes import Outcome
from hips.planner.portfolio import Portfolio
from hips.planner.solvers import Solver, Steppable

ONE = Budget(max_expansions=1)

_warm: set[tuple[type[Domain], str]] = set()
"""The kinds of domains and the methods that have searched in this process."""


def warm_up(domain: Domain, method: str, solver: Solver, levels: Sequence[Grid]) -> bool:
    """Expands the start of a level by every search of a solver, once a process and method.

    Programs and closed-loop policies are not called.

    Returns:
        False if Ctrl-C ended it.
    """
    key = (type(domain), method)
    for level in levels:
        if key in _warm:
            break
        found = [one.solve_many(domain, [level], ONE)[0] for one in _searches(solver)]
        if any(result.outcome is Outcome.INTERRUPTED for result in found):
            return False
        # Levels that end without an expansion leave the search as cold as before.
        if not found or all(result.statistics.expansions for result in found):
            _warm.add(key)
    return True


def _searches(solver: Solver) -> list[Solver]:
    members = [one.solver for one in solver.members] if isinstance(solver, Portfolio) else [solver]
    return [one for one in members if isinstance(one, Steppable)]

"""HIPS: only subgoals as children. Not complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import EXCHANGEABLE, JUMPS, SEARCH, SUBGOAL_PARTS, search_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals only."""
    return search_solver(wiring, subgoals=True, actions=False)


register(
    Method(
        "hips",
        "HIPS",
        "subgoals only",
        build,
        SUBGOAL_PARTS,
        (*SEARCH, *JUMPS),
        exchangeable=EXCHANGEABLE,
        complete=False,
    )
)

"""HIPS-ε: subgoals and low-level actions as children, mixed by ε (eq:pi). Complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import EXCHANGEABLE, JUMPS, SEARCH, SUBGOAL_PARTS, search_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals and actions."""
    return search_solver(wiring, subgoals=True, actions=True)


register(
    Method(
        "hips_eps",
        "HIPS-ε",
        "subgoals and single actions; complete",
        build,
        SUBGOAL_PARTS,
        ("epsilon", *SEARCH, *JUMPS),
        exchangeable=EXCHANGEABLE,
    )
)

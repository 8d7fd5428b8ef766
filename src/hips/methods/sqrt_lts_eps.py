"""√LTS-ε: √LTS over subgoals and low-level actions, mixed by ε (eq:pi). Complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import JUMPS, SEARCH, SUBGOAL_PARTS, search_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals and actions; the heuristic weighs the roots."""
    return search_solver(wiring, subgoals=True, actions=True)


register(
    Method(
        "sqrt_lts_eps",
        "√LTS-ε",
        "subgoals and single actions, searched anew from promising states",
        build,
        SUBGOAL_PARTS,
        ("epsilon", *SEARCH, *JUMPS, "rerooting"),
        {"evaluation": "sqrt_lts"},
    )
)

"""√LTS: many Levin tree searches at once, rooted where the heuristic sees progress. Complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import SEARCH, search_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Actions only, with the model's policy; its heuristic weighs the roots."""
    return search_solver(wiring, subgoals=False, actions=True)


register(
    Method(
        "sqrt_lts",
        "√LTS",
        "single actions, searched anew from promising states",
        build,
        ("prior", "heuristic"),
        (*SEARCH, "rerooting"),
        {"evaluation": "sqrt_lts"},
    )
)

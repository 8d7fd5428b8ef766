"""PHS*: single actions as children, ordered by policy and heuristic. Complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import SEARCH, search_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Actions only, with the model's policy and heuristic."""
    return search_solver(wiring, subgoals=False, actions=True)


register(
    Method(
        "phs_star",
        "PHS*",
        "single actions with the learned policy and heuristic",
        build,
        ("prior", "heuristic"),
        (*SEARCH, "prior_temperature"),
        {"evaluation": "phs_star"},
    )
)

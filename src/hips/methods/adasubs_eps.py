"""AdaSubS-ε: AdaSubS with low-level actions as children. Complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.subgoal_search import VERIFIED, adasubs_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals and actions."""
    return adasubs_solver(wiring, actions=True)


register(
    Method(
        "adasubs_eps",
        "AdaSubS-ε",
        "AdaSubS with single actions",
        build,
        ("adasubs", "reach_policy", "verifier", "heuristic"),
        (
            "epsilon",
            "evaluation",
            "heuristic_weight",
            "close_on_generation",
            "precision",
            *VERIFIED,
        ),
        {"evaluation": "gbfs", "candidates": 1, "epsilon": 0.0},
        contrast="adasubs",
    )
)

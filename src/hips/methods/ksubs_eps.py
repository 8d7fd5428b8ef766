"""KSubS-ε: kSubS with low-level actions as children. Complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.subgoal_search import EDITS, ksubs_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals and actions."""
    return ksubs_solver(wiring, actions=True)


register(
    Method(
        "ksubs_eps",
        "kSubS-ε",
        "kSubS with single actions",
        build,
        ("ksubs", "heuristic"),
        ("epsilon", "evaluation", "heuristic_weight", "close_on_generation", "precision", *EDITS),
        {"evaluation": "gbfs", "epsilon": 0.0},
        contrast="ksubs",
    )
)

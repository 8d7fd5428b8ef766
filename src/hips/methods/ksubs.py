"""KSubS: greedy search over subgoals k steps ahead. Not complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.subgoal_search import EDITS, ksubs_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals only."""
    return ksubs_solver(wiring, actions=False)


register(
    Method(
        "ksubs",
        "kSubS",
        "subgoals a fixed number of steps ahead, made of single-cell edits",
        build,
        ("ksubs", "heuristic"),
        ("evaluation", "heuristic_weight", "close_on_generation", "precision", *EDITS),
        {"evaluation": "gbfs"},
        complete=False,
    )
)

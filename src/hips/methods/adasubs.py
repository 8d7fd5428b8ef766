"""AdaSubS: greedy search over subgoals at several distances, the farthest first. Not complete."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.subgoal_search import VERIFIED, adasubs_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Subgoals only."""
    return adasubs_solver(wiring, actions=False)


register(
    Method(
        "adasubs",
        "AdaSubS",
        "subgoals at several distances, made of single-cell edits, and a verifier",
        build,
        ("adasubs", "reach_policy", "verifier", "heuristic"),
        ("evaluation", "heuristic_weight", "close_on_generation", "precision", *VERIFIED),
        {"evaluation": "gbfs", "candidates": 1},
        complete=False,
    )
)

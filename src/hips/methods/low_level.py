"""Single actions without a model: all actions are equally likely. Complete but slow."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import search_solver
from hips.planner.solvers import SearchSolver


def build(wiring: Wiring) -> SearchSolver:
    """Actions only; the user may supply a policy and a heuristic."""
    return search_solver(wiring, subgoals=False, actions=True)


register(
    Method(
        "low_level",
        "single actions",
        "single actions without a model",
        build,
        (),
        ("evaluation", "heuristic_weight", "close_on_generation", "width"),
        {"evaluation": "levin_ts"},
    )
)

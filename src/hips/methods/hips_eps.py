"""HIPS-ε: subgoals and low-level actions as children, mixed by ε (eq:pi). Complete."""

from __future__ import annotations

from dataclasses import replace

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import EXCHANGEABLE, JUMPS, SEARCH, SUBGOAL_PARTS, search_solver
from hips.planner.settings import BY_TIME
from hips.planner.shares import SharedSolver
from hips.planner.solvers import Solver


def build(wiring: Wiring, prune_dead: bool = False) -> Solver:
    """Subgoals and actions; with shares of time, next to a search over actions alone.

    Args:
        wiring: the inputs.
        prune_dead: leave out children that the domain proves dead.
    """
    both = search_solver(wiring, subgoals=True, actions=True, prune_dead=prune_dead)
    if wiring.settings.shares != BY_TIME:
        return both
    settings = replace(wiring.settings, evaluation="phs_star")
    other = replace(wiring, settings=settings)
    alone = search_solver(other, subgoals=False, actions=True, prune_dead=prune_dead)
    return SharedSolver(both, alone, wiring.settings.head_start or 0)


register(
    Method(
        "hips_eps",
        "HIPS-ε",
        "subgoals and single actions",
        build,
        SUBGOAL_PARTS,
        ("epsilon", "shares", "head_start", *SEARCH, *JUMPS),
        exchangeable=EXCHANGEABLE,
        contrast="hips",
    )
)

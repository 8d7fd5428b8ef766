"""Independent validation of levels and plans: uses the domain, not the search."""

from __future__ import annotations

import numpy as np

from hips.arrays import Actions, Grid
from hips.domains.base import Domain, replay


def is_plan(domain: Domain, start: Grid, actions: Actions) -> bool:
    """Whether `actions` lead from `start` to a goal state of the true domain."""
    return bool(domain.is_goal(replay(domain, start, actions)[-1:])[0])


def find_fault(domain: Domain, problem: Grid) -> str:
    """Why a grid is not a problem of `domain`; empty if it is."""
    shape = domain.spec.shape
    if problem.shape != shape or problem.dtype != np.uint8:
        return f"a level must be a uint8 grid {shape}, got {problem.dtype} {problem.shape}"
    if int(problem.max()) >= domain.spec.num_symbols:
        return f"cells must be 0 … {domain.spec.num_symbols - 1}, got {int(problem.max())}"
    return domain.fault(problem)

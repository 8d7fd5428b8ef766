"""BC: always takes the likeliest action of the learned policy; no search."""

from __future__ import annotations

from hips.errors import ModelError
from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import wire
from hips.planner.closed_loop import ClosedLoopSolver, GreedyPolicy


def build(wiring: Wiring) -> ClosedLoopSolver:
    """π_BC in closed loop."""
    policy = wire(wiring, subgoals=False).action_policy
    if policy is None:
        raise ModelError("Method 'bc' needs a policy over actions; use a model with a prior.")
    settings = wiring.settings
    return ClosedLoopSolver(GreedyPolicy(policy), settings.max_steps or 1, wiring.execution.batch)


register(
    Method(
        "bc",
        "BC",
        "the learned policy without search",
        build,
        ("prior",),
        ("max_steps", "precision"),
        complete=False,
    )
)

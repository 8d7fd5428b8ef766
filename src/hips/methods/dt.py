"""DT: a Decision Transformer, asked for a number of steps to the goal; no search."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import runtime_with
from hips.parts.dt import adapter
from hips.planner.closed_loop import ClosedLoopSolver


def build(wiring: Wiring) -> ClosedLoopSolver:
    """The likeliest action, given the past and the steps to go, in closed loop."""
    settings = wiring.settings
    runtime = runtime_with(wiring, "dt", adapter.ACTIONS)
    policy = adapter.ReturnConditionedPolicy(runtime, settings.target_steps or 0)
    return ClosedLoopSolver(policy, settings.max_steps or 1, wiring.execution.batch)


register(
    Method(
        "dt",
        "DT",
        "a Decision Transformer without search",
        build,
        ("dt",),
        ("target_steps", "max_steps", "precision"),
        complete=False,
    )
)

"""CQL: always takes the action of the largest Q-value; no search."""

from __future__ import annotations

from hips.methods import register
from hips.methods.base import Method, Wiring
from hips.methods.wiring import runtime_with
from hips.parts.cql import adapter
from hips.planner.closed_loop import ClosedLoopSolver


def build(wiring: Wiring) -> ClosedLoopSolver:
    """The greedy policy of the Q-values in closed loop."""
    policy = adapter.LearnedQValues(runtime_with(wiring, "cql", adapter.GRAPH))
    return ClosedLoopSolver(policy, wiring.settings.max_steps or 1, wiring.execution.batch)


register(
    Method(
        "cql",
        "CQL",
        "conservative Q-learning without search",
        build,
        ("cql",),
        ("max_steps", "precision"),
        complete=False,
    )
)

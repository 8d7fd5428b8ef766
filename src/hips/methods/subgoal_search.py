"""What searches over single-cell edits share: generator, way to subgoals, queue."""

from __future__ import annotations

from dataclasses import replace

from hips.errors import ModelError
from hips.methods.base import Wiring
from hips.methods.wiring import wire
from hips.parts.ksubs import adapter as ksubs
from hips.planner.components import make_expander
from hips.planner.evaluations import configured
from hips.planner.reaching import ExhaustiveReach
from hips.planner.settings import EXHAUSTIVE
from hips.planner.solvers import SearchSolver

EDITS = ("candidates", "coverage", "reach", "reach_depth")
"""Settings of a search over single-cell edits."""


def ksubs_solver(wiring: Wiring, *, actions: bool) -> SearchSolver:
    """A search over the subgoals of kSubS, with or without low-level actions."""
    settings, runtime, domain = wiring.settings, wiring.runtime, wiring.domain
    if runtime is None or ksubs.GRAPH not in runtime:
        raise ModelError("This method needs a model with the part 'ksubs'; see `hips train`.")
    generator = ksubs.generator(
        runtime,
        domain.spec.num_symbols,
        settings.candidates or 4,
        settings.coverage or 0.9,
    )
    components = wire(wiring, subgoals=False).overridden(generator=generator)
    exhaustive = settings.reach in (None, EXHAUSTIVE)
    if not exhaustive and components.reach_policy is None:
        raise ModelError("reach=policy needs a model with the part 'reach_policy'.")
    expander = make_expander(domain, components, settings, actions=actions)
    if exhaustive:
        reacher = ExhaustiveReach(domain.spec.num_actions, settings.reach_depth or 4)
        expander = replace(expander, reacher=reacher)
    return SearchSolver(
        expander,
        configured(settings.evaluation or "gbfs", settings.rerooting),
        bool(settings.close_on_generation),
        wiring.execution.batch,
    )

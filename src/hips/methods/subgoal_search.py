"""What searches over single-cell edits share: generator, way to subgoals, queue."""

from __future__ import annotations

from dataclasses import replace

from hips.errors import ModelError
from hips.methods.base import Wiring
from hips.methods.wiring import runtime_with, wire
from hips.parts.adasubs import adapter as adasubs
from hips.parts.ksubs import adapter as ksubs
from hips.parts.reach_policy import adapter as reach_policy
from hips.parts.verifier import adapter as verifier
from hips.planner.components import make_expander
from hips.planner.evaluations import configured
from hips.planner.expander import Hybrid
from hips.planner.reaching import ExhaustiveReach, VerifiedReach
from hips.planner.rollouts import RolloutLimits
from hips.planner.settings import EXHAUSTIVE
from hips.planner.solvers import SearchSolver
from hips.planner.staged import Staged

EDITS = ("candidates", "coverage", "reach", "reach_depth")
"""Settings of a search over single-cell edits."""


VERIFIED = ("candidates", "verifier_reject", "verifier_accept", "chunk_confidence", "horizon")
"""Settings of an adaptive search over single-cell edits."""


def adasubs_solver(wiring: Wiring, *, actions: bool) -> SearchSolver:
    """A search over the subgoals of AdaSubS, the farthest first, with or without actions.

    With ε → 0, actions are the last stage; otherwise they are part of the first one.
    """
    settings, domain = wiring.settings, wiring.domain
    runtime = runtime_with(wiring, "adasubs", adasubs.GRAPH)
    components = wire(wiring, subgoals=False)
    policy = reach_policy.LearnedReachPolicy(runtime)
    judge = verifier.LearnedVerifier(runtime_with(wiring, "verifier", verifier.GRAPH))
    limits = RolloutLimits(
        settings.horizon or domain.preset.horizon, settings.chunk_confidence or 1.0
    )
    reacher = VerifiedReach(
        policy,
        judge,
        limits,
        limits.horizon,
        float(settings.verifier_reject or 0.0),
        1.0 if settings.verifier_accept is None else settings.verifier_accept,
    )
    epsilon = float(settings.epsilon or 0.0)
    usual = replace(settings, epsilon=max(epsilon, 1e-3))
    stages: list[Hybrid] = []
    for generator in adasubs.generators(runtime, domain.spec.num_symbols, settings.candidates or 1):
        mixed = actions and epsilon > 0 and not stages
        own = components.overridden(generator=generator)
        stages.append(replace(make_expander(domain, own, usual, actions=mixed), reacher=reacher))
    if actions and epsilon == 0:
        stages.append(make_expander(domain, components, usual, subgoals=False))
    return SearchSolver(
        Staged(tuple(stages)),
        configured(settings.evaluation or "gbfs", settings.rerooting),
        bool(settings.close_on_generation),
        wiring.execution.batch,
        settings.width or 1,
    )


def ksubs_solver(wiring: Wiring, *, actions: bool) -> SearchSolver:
    """A search over the subgoals of kSubS, with or without low-level actions."""
    settings, domain = wiring.settings, wiring.domain
    runtime = runtime_with(wiring, "ksubs", ksubs.GRAPH)
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
        settings.width or 1,
    )

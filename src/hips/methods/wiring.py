"""From the graphs of a model to the components of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar, cast

import numpy as np

from hips.arrays import Grids, Scores
from hips.domains.base import Domain, GridSpec
from hips.errors import ModelError
from hips.methods.base import Wiring
from hips.models.runtime import GraphRuntime
from hips.parts.dynamics import adapter as dynamics
from hips.parts.heuristic import adapter as heuristic
from hips.parts.prior import adapter as prior
from hips.parts.reach_policy import adapter as reach_policy
from hips.parts.subgoals import adapter as subgoals
from hips.planner.components import Components, make_expander
from hips.planner.evaluations import configured
from hips.planner.expander import Hybrid
from hips.planner.generators import GENERATORS
from hips.planner.policies import NearestStepPolicy
from hips.planner.protocols import SubgoalGenerator
from hips.planner.settings import LEARNED
from hips.planner.solvers import SearchSolver
from hips.planner.widening import Widening

A = TypeVar("A")

SEARCH = (
    "evaluation",
    "dynamics",
    "heuristic_weight",
    "legality_check",
    "close_on_generation",
    "width",
    "precision",
)
"""Settings of every search with a model."""
JUMPS = (
    "generator",
    "top_p",
    "early_expansions",
    "early_top_p",
    "prior_temperature",
    "min_reach_probability",
    "chunk_confidence",
    "horizon",
    "rollout_retries",
    "rollouts",
    "pass_goals",
    "decoding",
    "equal_subgoals",
)
"""Settings of a search over subgoals."""
SUBGOAL_PARTS = ("subgoals", "prior", "reach_policy", "heuristic")
"""Parts of the paper's subgoal search."""
EXCHANGEABLE = (("subgoals", "prior"), ("reach_policy",), ("heuristic",))
"""Parts that another model's can replace; the prior is over the codes of its own decoder."""


@dataclass(frozen=True, slots=True)
class CellDecoder:
    """Decodes each cell by itself, as published; stands in for the domain in the generator."""

    spec: GridSpec

    def decode(self, scores: Scores, origins: Grids) -> Grids:
        """The best symbol of every cell `[B, H, W]`; the grid may be illegal."""
        return np.asarray(scores.argmax(axis=-1), dtype=np.uint8)


def search_solver(
    wiring: Wiring, *, subgoals: bool, actions: bool, prune_dead: bool = False
) -> SearchSolver:
    """A best-first search over subgoals, actions, or both."""
    settings = wiring.settings
    components = wire(wiring, subgoals=subgoals)
    if subgoals and components.generator is None:
        raise ModelError(
            "This method needs subgoals, and there is no model to propose them. Train one with "
            "`hips train`, name one with --model, or use --method low_level."
        )

    def expander(components: Components) -> Hybrid:
        made = make_expander(
            wiring.domain, components, settings, subgoals=subgoals, actions=actions
        )
        return replace(made, rules=replace(made.rules, prune_dead=prune_dead))

    return SearchSolver(
        _widening(wiring, expander, components) if subgoals else expander(components),
        configured(settings.evaluation or "phs_hat", settings.rerooting),
        bool(settings.close_on_generation),
        wiring.execution.batch,
        settings.width or 1,
    )


def _widening(
    wiring: Wiring, expander: Callable[[Components], Hybrid], components: Components
) -> Hybrid | Widening:
    """An expander that is narrow at first, if the settings want one and it makes a difference."""
    settings, generator = wiring.settings, components.generator
    if not settings.early_expansions or not isinstance(generator, subgoals.VqGenerator):
        return expander(components)
    narrow = replace(generator, top_p=min(generator.top_p, settings.early_top_p or 1.0))
    early = expander(replace(components, generator=narrow))
    return Widening(early, expander(components), settings.early_expansions)


def runtime_with(wiring: Wiring, part: str, graph: str) -> GraphRuntime:
    """The graphs of the model, which must have those of a part.

    Raises:
        ModelError: there is no model, or it lacks the part.
    """
    runtime = wiring.runtime
    if runtime is None or graph not in runtime:
        raise ModelError(
            f"This method needs a model with the part '{part}'; train one with "
            f"`hips train {wiring.domain.name} --parts {part}` and name it with --model."
        )
    return runtime


def wire(wiring: Wiring, subgoals: bool = True) -> Components:
    """The components from the model's parts, replaced by the user's where given."""
    own, runtime = wiring.own, wiring.runtime
    if runtime is None:
        learned = Components()
    else:
        has_prior = prior.GRAPH in runtime
        learned = Components(
            reach_policy=_if(reach_policy.GRAPH, runtime, reach_policy.LearnedReachPolicy),
            action_policy=prior.LearnedPrior(runtime) if has_prior else None,
            heuristic=_if(heuristic.GRAPH, runtime, heuristic.LearnedHeuristic),
            dynamics=_if(dynamics.GRAPH, runtime, dynamics.LearnedDynamics),
        )
    found = learned.overridden(
        reach_policy=own.reach_policy,
        action_policy=own.action_policy,
        heuristic=own.heuristic,
        dynamics=own.dynamics,
    )
    if not subgoals:
        return found
    generator = own.generator or _generator(wiring, learned)
    if generator is not None and found.reach_policy is None:
        found = found.overridden(reach_policy=NearestStepPolicy(wiring.domain))
    return found.overridden(generator=generator)


def _generator(wiring: Wiring, learned: Components) -> SubgoalGenerator | None:
    """The generator that the settings name: a registered one or the model's."""
    settings, runtime = wiring.settings, wiring.runtime
    if settings.generator not in (None, LEARNED):
        return GENERATORS.get(str(settings.generator))(wiring.domain)
    policy = learned.action_policy
    if runtime is None or subgoals.DECODER not in runtime:
        return None
    if not isinstance(policy, prior.LearnedPrior):
        return None
    cells = settings.decoding == "cells"
    return subgoals.VqGenerator(
        cast(Domain, CellDecoder(wiring.domain.spec)) if cells else wiring.domain,
        runtime,
        policy,
        settings.top_p or 1.0,
        settings.prior_temperature or 1.0,
    )


def _if(graph: str, runtime: GraphRuntime, adapter: Callable[[GraphRuntime], A]) -> A | None:
    return adapter(runtime) if graph in runtime else None
